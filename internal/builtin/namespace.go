package builtin

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	api "k8s.io/kubernetes/pkg/apis/core"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// NamespaceNames are the namespaces that every cluster has from its start.
var NamespaceNames = []string{
	metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease,
}

// InitialNamespace returns one of them as a server creates it. Its managedFields are
// written out here, because computing them takes longer than starting a cluster.
func InitialNamespace(name, manager string, now metav1.Time) runtime.Object {
	return &api.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{corev1.LabelMetadataName: name},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/metadata.name":{}}}}`),
		}},
	}}
}

// namespaceContent makes a deleted namespace wait until its content is gone. The behaviour
// is that of upstream's pkg/registry/core/namespace/storage.
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
	SettlesDependents: true,
}
