package builtin

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage/names"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// NamespaceNames has the names of the namespaces that every cluster has from its start.
var NamespaceNames = []string{
	metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease,
}

// InitialNamespace is one of them, as a server creates it. Its managedFields are
// written out, because to work them out takes longer than to start a cluster.
func InitialNamespace(name, manager string, now metav1.Time) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{corev1.LabelMetadataName: name},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/metadata.name":{}}}}`),
		}},
	}}
}

// Namespaces returns the resource of namespaces.
func Namespaces() *resource.Resource {
	r := &resource.Resource{
		Names: resource.Names{
			Plural: "namespaces", Singular: "namespace", ShortNames: []string{"ns"},
			Kind: "Namespace", ListKind: "NamespaceList",
		},
		Verbs:  []string{"create", "delete", "get", "list", "patch", "update", "watch"},
		Prefix: "/registry/namespaces/",
	}
	kind := corev1.SchemeGroupVersion.WithKind("Namespace")
	phase := func(obj runtime.Object) string { return string(obj.(*corev1.Namespace).Status.Phase) }
	name := func(obj runtime.Object) string { return obj.(*corev1.Namespace).Name }
	codec := resource.NewTypedCodec(Scheme(), kind, kind.GroupVersion(),
		map[string]func(runtime.Object) string{"status.phase": phase, "name": name})
	strategy := namespaceStrategy{Scheme(), names.SimpleNameGenerator}
	r.Storage = &resource.Version{
		Resource: r, Name: kind.Version, Served: true, Typed: true, Identity: kind.Version,
		Codec:        defaultedNamespace{codec},
		Serializer:   codec.Serializer(),
		Strategy:     strategy,
		Table:        tableOf(namespaceColumns),
		Patches:      resource.Patches{StrategicMerge: codec.StrategicMerge},
		ContentFirst: &resource.ContentFirst{Begin: beginDeletion, Remains: contentRemains, SettlesDependents: true},
		Subresource: map[string]*resource.Subresource{
			"status": {
				Strategy: namespaceStatus{strategy}, Verbs: []string{"get", "patch", "update"},
				FieldManager: resource.TypedFieldManager(Scheme(), types, kind, kind.GroupVersion(), "status", "spec"),
			},
			"finalize": {
				Strategy: namespaceFinalize{strategy}, Verbs: []string{"update"},
				FieldManager: resource.TypedFieldManager(Scheme(), types, kind, kind.GroupVersion(), "finalize", "status"),
			},
		},
		FieldManager: resource.TypedFieldManager(Scheme(), types, kind, kind.GroupVersion(), "", "status"),
		Types:        knownTypes,
	}
	r.Storage.OpenAPI = resource.TypedOpenAPI(r.Storage, &corev1.Namespace{})
	r.Versions = []*resource.Version{r.Storage}
	return r
}

// defaultedNamespace adds the label kubernetes.io/metadata.name to each namespace when it is
// decoded, as the defaulting of the real server does.
type defaultedNamespace struct{ *resource.TypedCodec }

func (c defaultedNamespace) Decode(body []byte, s runtime.Serializer) (obj runtime.Object, gvk *schema.GroupVersionKind, err error) {
	obj, gvk, err = c.TypedCodec.Decode(body, s)
	if ns, ok := obj.(*corev1.Namespace); ok && ns != nil {
		labelWithName(ns)
	}
	return obj, gvk, err
}

// labelWithName adds the label. With generateName, the namespace has no name yet and no label.
func labelWithName(ns *corev1.Namespace) {
	if ns.Name == "" {
		return
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

// namespaceStrategy follows k8s.io/kubernetes' pkg/registry/core/namespace.
type namespaceStrategy struct {
	runtime.ObjectTyper
	names.NameGenerator
}

func (namespaceStrategy) NamespaceScoped() bool { return false }

func (namespaceStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	ns := obj.(*corev1.Namespace)
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

func (namespaceStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	ns, was := obj.(*corev1.Namespace), old.(*corev1.Namespace)
	ns.Spec.Finalizers = was.Spec.Finalizers
	ns.Status = was.Status
}

func (namespaceStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	ns := obj.(*corev1.Namespace)
	errs := apivalidation.ValidateObjectMeta(&ns.ObjectMeta, false, apivalidation.ValidateNamespaceName, field.NewPath("metadata"))
	for _, f := range ns.Spec.Finalizers {
		errs = append(errs, validateFinalizerName(string(f), field.NewPath("spec", "finalizers"))...)
	}
	return errs
}

// validateFinalizerName accepts finalizers of namespaces that are qualified names or standard
// ones.
func validateFinalizerName(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range validation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, name, msg))
	}
	known := []string{string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	if !strings.Contains(name, "/") && !slices.Contains(known, name) {
		errs = append(errs, field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified"))
	}
	return errs
}

func (s namespaceStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	ns, was := obj.(*corev1.Namespace), old.(*corev1.Namespace)
	return append(s.Validate(ctx, obj),
		apivalidation.ValidateObjectMetaUpdate(&ns.ObjectMeta, &was.ObjectMeta, field.NewPath("metadata"))...)
}

func (namespaceStrategy) Canonicalize(obj runtime.Object) { labelWithName(obj.(*corev1.Namespace)) }

func (namespaceStrategy) AllowCreateOnUpdate(context.Context) bool      { return false }
func (namespaceStrategy) AllowUnconditionalUpdate(context.Context) bool { return true }

func (namespaceStrategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }
func (namespaceStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// beginDeletion is resource.ContentFirst.Begin. It sets the phase Terminating.
func beginDeletion(obj runtime.Object, now metav1.Time) {
	ns := obj.(*corev1.Namespace)
	if ns.DeletionTimestamp == nil {
		ns.DeletionTimestamp = &now
	}
	ns.Status.Phase = corev1.NamespaceTerminating
}

// contentRemains is resource.ContentFirst.Remains. While a namespace has content, it has a
// finalizer in spec.finalizers.
func contentRemains(obj runtime.Object) bool {
	return len(obj.(*corev1.Namespace).Spec.Finalizers) > 0
}

// namespaceStatus is the strategy of /status.
type namespaceStatus struct{ namespaceStrategy }

func (namespaceStatus) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*corev1.Namespace).Spec = old.(*corev1.Namespace).Spec
}

func (namespaceStatus) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	ns, was := obj.(*corev1.Namespace), old.(*corev1.Namespace)
	errs := apivalidation.ValidateObjectMetaUpdate(&ns.ObjectMeta, &was.ObjectMeta, field.NewPath("metadata"))
	switch phase := field.NewPath("status", "phase"); {
	case ns.DeletionTimestamp.IsZero() && ns.Status.Phase != corev1.NamespaceActive:
		errs = append(errs, field.Invalid(phase, ns.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty"))
	case !ns.DeletionTimestamp.IsZero() && ns.Status.Phase != corev1.NamespaceTerminating:
		errs = append(errs, field.Invalid(phase, ns.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
	}
	return errs
}

// namespaceFinalize is the strategy of /finalize. Only there spec.finalizers can be changed.
type namespaceFinalize struct{ namespaceStrategy }

func (namespaceFinalize) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*corev1.Namespace).Status = old.(*corev1.Namespace).Status
}

func (namespaceFinalize) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	ns, was := obj.(*corev1.Namespace), old.(*corev1.Namespace)
	errs := apivalidation.ValidateObjectMetaUpdate(&ns.ObjectMeta, &was.ObjectMeta, field.NewPath("metadata"))
	for i, f := range ns.Spec.Finalizers {
		errs = append(errs, validateFinalizerName(string(f), field.NewPath("spec", "finalizers").Index(i))...)
	}
	return errs
}
