package write

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxMetadata limits the number of labels of an object, and of annotations, finalizers, owners and managers. A real
// server limits only the size of the body, and works for seconds on a hundred thousand of them.
const maxMetadata = 10_000

// isBounded rejects an object with excessive metadata. obj is of the kind that the write shows. It comes before the
// stages that process each entry. Where a real server would reject the object for its size after all that work, the
// message is the same.
func (a attempt) isBounded(obj runtime.Object) error {
	if !a.shownAs().Typed {
		return a.isBoundedMap(obj.(*unstructured.Unstructured))
	}
	name, n, size, err := excessive(obj)
	if err != nil {
		return err
	}
	return a.refuseExcess(obj, name, n, size)
}

// isBoundedMap is isBounded for an object that is a map, such as an apply configuration of any kind.
func (a attempt) isBoundedMap(u *unstructured.Unstructured) error {
	name, n, size := excessiveMap(u)
	return a.refuseExcess(u, name, n, size)
}

// refuseExcess returns the error of an object with n entries of size bytes in a field of its metadata; nil if n is 0.
func (a attempt) refuseExcess(obj runtime.Object, name string, n, size int) error {
	switch {
	case n == 0:
		return nil
	case name == "annotations" && size > validation.TotalAnnotationSizeLimitB:
		return a.invalidMetadata(obj, field.ErrorList{field.TooLong(field.NewPath("metadata", "annotations"), "", validation.TotalAnnotationSizeLimitB)})
	case size > maxObjectBytes:
		return &tooLargeError{size}
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("metadata.%s has %d entries, and fakecluster takes %d", name, n, maxMetadata))
}

// invalidMetadata returns the error of an object whose metadata is invalid.
func (a attempt) invalidMetadata(obj runtime.Object, errs field.ErrorList) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	kind, err := statedKind(a.updateStrategy(), obj)
	if err != nil {
		return err
	}
	return apierrors.NewInvalid(kind, m.GetName(), errs)
}

// excessive returns a field of an object's metadata with more than maxMetadata entries, their number, and the bytes that
// they take in the store. n is 0 if there is none.
func excessive(obj runtime.Object) (name string, n, size int, err error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return "", 0, 0, apierrors.NewInternalError(err)
	}
	for _, field := range []struct {
		name string
		m    map[string]string
	}{{"labels", m.GetLabels()}, {"annotations", m.GetAnnotations()}} {
		if len(field.m) > maxMetadata {
			return field.name, len(field.m), sizeOfMap(field.m), nil
		}
	}
	if finalizers := m.GetFinalizers(); len(finalizers) > maxMetadata {
		return "finalizers", len(finalizers), sizeOfList(finalizers), nil
	}
	if n := len(m.GetOwnerReferences()); n > maxMetadata {
		return "ownerReferences", n, 0, nil
	}
	if n := len(m.GetManagedFields()); n > maxMetadata {
		return "managedFields", n, 0, nil
	}
	return "", 0, 0, nil
}

// excessiveMap is excessive for an object that is a map.
func excessiveMap(u *unstructured.Unstructured) (name string, n, size int) {
	metadata, _ := u.Object["metadata"].(map[string]any)
	for _, name := range []string{"labels", "annotations", "finalizers", "ownerReferences", "managedFields"} {
		switch value := metadata[name].(type) {
		case map[string]any:
			if len(value) > maxMetadata {
				return name, len(value), sizeOfMap(value)
			}
		case []any:
			if len(value) > maxMetadata {
				return name, len(value), sizeOfList(value)
			}
		}
	}
	return "", 0, 0
}

// sizeOfMap returns how many bytes a map of texts takes in JSON, and about as many in protobuf.
func sizeOfMap[V any](m map[string]V) (size int) {
	for key, value := range m {
		size += len(key) + len(`"":"",`)
		if text, ok := any(value).(string); ok {
			size += len(text)
		}
	}
	return size
}

// sizeOfList returns how many bytes a list of texts takes in JSON, and about as many in protobuf.
func sizeOfList[V any](list []V) (size int) {
	for _, value := range list {
		size += len(`"",`)
		if text, ok := any(value).(string); ok {
			size += len(text)
		}
	}
	return size
}
