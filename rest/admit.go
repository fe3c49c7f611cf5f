package rest

import (
	"errors"
	"slices"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	restadmission "github.com/fakecluster/fakecluster/rest/admission"
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
	return restadmission.NamespaceLifecycle(w.attributes(operation, obj, old), restadmission.Namespace{
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

// validate is the second phase of admission: what may refuse a write that is
// valid. Nothing does so yet.
func (w *write) validate(operation admission.Operation, obj, old runtime.Object) error { return nil }

// attributes describe the write to admission.
func (w *write) attributes(operation admission.Operation, obj, old runtime.Object) admission.Attributes {
	user, _ := apirequest.UserFrom(w.ctx)
	return admission.NewAttributesRecord(obj, old, w.version.Kind(), w.namespace, w.name,
		w.version.GroupVersionResource(), w.subresource, operation, w.options, w.dryRun, user)
}
