package write

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/warning"
)

// The texts in the warning about duplicate owner references for when they were found.
const (
	beforeAdmission = ""
	afterAdmission  = " after mutating admission happens"
)

// dropDuplicateOwnersOf is dropDuplicateOwners for an object.
func dropDuplicateOwnersOf(ctx context.Context, obj runtime.Object, when string) error {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	dropDuplicateOwners(ctx, metadata, when)
	return nil
}

// dropDuplicateOwners removes duplicate owner references, and warns about them.
func dropDuplicateOwners(ctx context.Context, metadata metav1.Object, when string) {
	owners := metadata.GetOwnerReferences()
	if len(owners) < 2 {
		return
	}
	var kept []metav1.OwnerReference
	var dropped []string
	seen := map[types.UID]bool{}
	for _, owner := range owners {
		if seen[owner.UID] && contains(kept, owner) {
			dropped = append(dropped, string(owner.UID))
			continue
		}
		seen[owner.UID] = true
		kept = append(kept, owner)
	}
	if len(dropped) > 0 {
		metadata.SetOwnerReferences(kept)
		warning.AddWarning(ctx, "", fmt.Sprintf(".metadata.ownerReferences contains duplicate entries%s; "+
			"API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; "+
			"please fix your requests; duplicate UID(s) observed: %v", when, strings.Join(dropped, ", ")))
	}
}

func contains(owners []metav1.OwnerReference, owner metav1.OwnerReference) bool {
	for _, o := range owners {
		if equality.Semantic.DeepEqual(o, owner) {
			return true
		}
	}
	return false
}
