package builtin

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	api "k8s.io/kubernetes/pkg/apis/core"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// namespaceContent makes a deleted namespace wait until its content is gone. It follows upstream's
// pkg/registry/core/namespace/storage.
var namespaceContent = &resource.ContentFirst{
	Begin: func(obj runtime.Object, now metav1.Time) {
		ns := obj.(*api.Namespace)
		if ns.DeletionTimestamp == nil {
			ns.DeletionTimestamp = &now
		}
		ns.Status.Phase = api.NamespaceTerminating
	},
	// As long as spec.finalizers is not empty, the namespace has content.
	Remains:           func(obj runtime.Object) bool { return len(obj.(*api.Namespace).Spec.Finalizers) > 0 },
	Mismatch:          "Precondition failed",
	DecidesDependents: true,
}
