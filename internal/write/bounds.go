package write

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxMetadata is the largest number of labels of an object, and of annotations, finalizers,
// owners and managers. A real server has no limit but the size of the body, and works for
// seconds on a hundred thousand of them.
const maxMetadata = 10_000

// isBounded refuses an object with excessive metadata. It comes before the stages of a write
// that work on each piece of it.
func isBounded(obj runtime.Object) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		metadata, _ := u.Object["metadata"].(map[string]any)
		for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences", "managedFields"} {
			n := 0
			switch value := metadata[field].(type) {
			case map[string]any:
				n = len(value)
			case []any:
				n = len(value)
			}
			if n > maxMetadata {
				return tooMuchMetadata(field, n)
			}
		}
		return nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	for _, of := range []struct {
		field string
		n     int
	}{
		{"labels", len(m.GetLabels())}, {"annotations", len(m.GetAnnotations())}, {"finalizers", len(m.GetFinalizers())},
		{"ownerReferences", len(m.GetOwnerReferences())}, {"managedFields", len(m.GetManagedFields())},
	} {
		if of.n > maxMetadata {
			return tooMuchMetadata(of.field, of.n)
		}
	}
	return nil
}

func tooMuchMetadata(field string, n int) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("metadata.%s has %d entries, and fakecluster takes %d", field, n, maxMetadata))
}
