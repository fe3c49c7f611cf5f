package rest

import (
	"errors"
	"slices"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// admit is the first phase of admission: what may change a write, or refuse it
// before it is validated. It also notes what the write was judged by.
func (w *write) admit(operation admission.Operation, obj, old runtime.Object) error {
	res := w.version.Resource
	w.require = slices.Clone(w.always)
	if res.Definition.Key != "" {
		w.require = append(w.require, res.Definition)
	}
	if operation == admission.Create && res.Terminating {
		return apierrors.NewForbidden(res.GroupResource(), w.name,
			errors.New("create not allowed while custom resource definition is terminating"))
	}
	if err := w.namespaceLifecycle(operation, obj, old); err != nil {
		return err
	}
	if w.projection() != nil {
		return nil // it was asked about what the subresource shows
	}
	return w.mutate(operation, obj, old, w.version)
}

// namespaceLifecycle refuses what the state of the namespace forbids.
func (w *write) namespaceLifecycle(operation admission.Operation, obj, old runtime.Object) error {
	if w.Server.options.WithoutNamespaceLifecycle {
		return nil
	}
	namespace, err := w.namespaceOf()
	if err != nil {
		return err
	}
	if namespace.Key != "" && operation == admission.Create {
		w.require = append(w.require, store.Precondition{Key: namespace.Key, Revision: namespace.Revision})
	}
	return restadmission.NamespaceLifecycle(w.attributes(operation, obj, old, w.version.Kind(), w.namespace), restadmission.Namespace{
		Exists:      namespace.Revision != 0,
		Terminating: gjson.Get(namespace.Value, "status.phase").Str == string(corev1.NamespaceTerminating),
	})
}

// namespaceOf is the record of the namespace that is written to; it has a key
// only, if there is no such namespace, and none for a cluster-scoped write.
func (w *write) namespaceOf() (store.Record, error) {
	if w.namespace == "" {
		return store.Record{}, nil
	}
	key := w.namespaces.Key("", w.namespace)
	record, err := w.store.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return store.Record{Key: key}, nil
	}
	return record, err
}

// mutate has the chain change the object, which is one of the version, or refuse
// it.
func (w *write) mutate(operation admission.Operation, obj, old runtime.Object, as *resource.Version) error {
	if w.chain.Empty() {
		return nil
	}
	asked := w.asked(operation, obj, old, as)
	if err := w.chain.Mutate(w.ctx, asked); err != nil {
		return err
	}
	if !asked.Replaced() {
		return nil
	}
	w.replaced = true
	w.dropDuplicateOwners(obj, afterAdmission)
	if w.projection() != nil {
		return nil
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return registryrest.EnsureObjectNamespaceMatchesRequestNamespace(w.namespace, metadata)
}

// validate is the second phase of admission: what may refuse a write that is
// valid. What somebody has put into the object that its schema does not know goes
// no further.
func (w *write) validate(operation admission.Operation, obj, old runtime.Object) error {
	if w.chain.Empty() {
		return nil
	}
	as, is, was := w.version, obj, old
	if p := w.projection(); p != nil {
		var err error
		as = p.View()
		if is, err = p.Of(obj); err != nil {
			return err
		}
		if was, err = p.Of(old); err != nil { // it had nothing to show yet
			if was, err = p.Before(old); err != nil {
				return err
			}
		}
	}
	if err := w.chain.Validate(w.ctx, w.asked(operation, is, was, as)); err != nil {
		return err
	}
	if w.replaced {
		return w.version.Codec.Prune(obj)
	}
	return nil
}

// projection is what shows the object as another kind at the subresource that is
// written, or nil.
func (w *write) projection() resource.Projection {
	if s := w.version.Subresource[w.subresource]; s != nil {
		return s.Projection
	}
	return nil
}

// asked is the write as the chain is asked about it.
func (w *write) asked(operation admission.Operation, obj, old runtime.Object, as *resource.Version) *restadmission.Write {
	namespace := w.namespace
	if w.version.Resource == w.namespaces {
		namespace = w.name // a namespace is in itself
	}
	return restadmission.NewWrite(w.ctx, w.attributes(operation, obj, old, as.Kind(), namespace), as, cluster{w.Server})
}

// attributes describe the write to admission.
func (w *write) attributes(operation admission.Operation, obj, old runtime.Object, kind schema.GroupVersionKind, namespace string) admission.Attributes {
	user, _ := apirequest.UserFrom(w.ctx)
	name := w.name
	if w.collection {
		name = ""
	} else if name == "" && obj != nil { // generated meanwhile, or still to be
		if m, err := meta.Accessor(obj); err == nil {
			name = m.GetName()
		}
	}
	return admission.NewAttributesRecord(obj, old, kind, namespace, name,
		w.version.GroupVersionResource(), w.subresource, operation, w.operationOptions(operation), w.dryRun, user)
}

// operationOptions are those of the operation, which need not be the one that the
// client asked for: an update or an apply may create.
func (w *write) operationOptions(operation admission.Operation) runtime.Object {
	switch operation {
	case admission.Create:
		options, ok := w.options.(*metav1.CreateOptions)
		if update, isUpdate := w.options.(*metav1.UpdateOptions); isUpdate {
			options, ok = &metav1.CreateOptions{DryRun: update.DryRun, FieldManager: update.FieldManager, FieldValidation: update.FieldValidation}, true
		}
		if !ok {
			options = &metav1.CreateOptions{}
		}
		options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
		return options
	case admission.Update:
		options, ok := w.options.(*metav1.UpdateOptions)
		if !ok {
			options = &metav1.UpdateOptions{}
		}
		options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
		return options
	}
	options, ok := w.options.(*metav1.DeleteOptions)
	if !ok {
		options = &metav1.DeleteOptions{}
	}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
	return options
}
