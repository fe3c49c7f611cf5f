package write

import (
	"errors"
	"strings"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/store"
)

// admitted is the result of the first phase of admission.
type admitted struct {
	// require has conditions that must hold when the write commits: the definition and the
	// namespace that the write was admitted with have not changed.
	require []store.Precondition
	// replaced: a plugin has changed the object.
	replaced bool
}

// mutatingAdmission is the first phase of admission, which may change a write or deny it before validation. The objects
// are of the kind that the write shows. For a create old is nil, for a delete obj is nil.
func (a attempt) mutatingAdmission(operation admission.Operation, obj, old runtime.Object) (admitted, error) {
	res := a.version.Resource
	if operation == admission.Create && res.Terminating {
		return admitted{}, apierrors.NewForbidden(res.GroupResource(), a.name,
			errors.New("create not allowed while custom resource definition is terminating"))
	}
	if a.chain.First != nil && a.chain.First.AppliesTo(res) {
		if err := a.chain.Provision(a.ctx, a.admissionWrite(operation, obj, old)); err != nil {
			return admitted{}, err
		}
	}
	out := admitted{require: a.unlessRedefined()}
	namespace, err := a.namespaceLifecycle(operation, obj, old)
	if err != nil {
		a.observe.Denied("NamespaceLifecycle", err)
		return admitted{}, err
	}
	if namespace.Key != "" && operation == admission.Create {
		out.require = append(out.require, store.Precondition{Key: namespace.Key, Revision: namespace.Revision})
	}
	out.replaced, err = a.mutate(operation, obj, old)
	return out, err
}

// namespaceLifecycle denies a write that the state of its namespace forbids, and returns the record of the namespace.
// The record has no key if the namespace does not matter, and the revision 0 if the namespace does not exist.
func (a attempt) namespaceLifecycle(operation admission.Operation, obj, old runtime.Object) (store.Record, error) {
	if a.p.WithoutNamespaceLifecycle {
		return store.Record{}, nil
	}
	var record store.Record
	if a.request.Namespace != "" {
		key := a.p.Namespaces.Key("", a.request.Namespace)
		var err error
		if record, err = a.p.Store.Get(key); errors.Is(err, store.ErrNotFound) {
			record = store.Record{Key: key}
		} else if err != nil {
			return record, err
		}
	}
	attributes := a.attributes(operation, obj, old, a.version.Kind(), a.request.Namespace, nil) // it does not read the options
	return record, restadmission.NamespaceLifecycle(attributes, restadmission.Namespace{
		Exists:      record.Revision != 0,
		Terminating: hasTerminatingPhase(record.Value),
	})
}

// hasTerminatingPhase reports whether the JSON of a namespace has the phase Terminating. It parses the JSON only if that
// contains the word.
func hasTerminatingPhase(namespace string) bool {
	const phase = string(corev1.NamespaceTerminating)
	return strings.Contains(namespace, `"`+phase+`"`) && gjson.Get(namespace, "status.phase").Str == phase
}

// mutate calls the chain, which may change the object or deny the write. It reports whether the object has
// changed.
func (a attempt) mutate(operation admission.Operation, obj, old runtime.Object) (replaced bool, err error) {
	if a.chain.Skips(a.version.Resource) {
		return false, nil
	}
	w := a.admissionWrite(operation, obj, old)
	if err := a.chain.Mutate(a.ctx, w); err != nil {
		return false, err
	}
	return w.Replaced(), nil
}

// validatingAdmission is the second phase of admission, which may deny a valid write.
func (a attempt) validatingAdmission(operation admission.Operation, obj, old runtime.Object) error {
	if err := a.validateByChain(operation, obj, old); err != nil || a.request.Refuse == nil {
		return err
	}
	return a.request.Refuse(a.attributes(operation, obj, old, a.shownAs().Kind(), a.request.Namespace, a.operationOptions(operation)))
}

func (a attempt) validateByChain(operation admission.Operation, obj, old runtime.Object) error {
	if a.chain.Skips(a.version.Resource) {
		return nil
	}
	after, before, err := a.projections(obj, old)
	if err != nil {
		return err
	}
	return a.chain.Validate(a.ctx, a.admissionWrite(operation, after, before))
}

// admissionWrite returns the write in the form of the admission chain.
func (a attempt) admissionWrite(operation admission.Operation, obj, old runtime.Object) *restadmission.Write {
	namespace := a.request.Namespace
	if a.version.Resource.NamespaceOfItself {
		namespace = a.name
	}
	as := a.shownAs()
	return restadmission.NewWrite(a.ctx, a.attributes(operation, obj, old, as.Kind(), namespace, a.operationOptions(operation)), as, a.p.Cluster)
}

// attributes returns the attributes of the write for admission.
func (a attempt) attributes(operation admission.Operation, obj, old runtime.Object, kind schema.GroupVersionKind, namespace string,
	options runtime.Object) admission.Attributes {
	user, _ := apirequest.UserFrom(a.ctx)
	name := a.name
	if a.request.Collection {
		name = ""
	} else if name == "" && obj != nil { // the generated name, if there is one yet
		if m, err := meta.Accessor(obj); err == nil {
			name = m.GetName()
		}
	}
	return admission.NewAttributesRecord(obj, old, kind, namespace, name,
		a.version.GroupVersionResource(), a.request.Subresource, operation, options, a.request.isDryRun(), user)
}

// operationOptions returns the options that admission sees. They depend on the operation
// and not on the verb of the request: an update or an apply may create the object.
func (a attempt) operationOptions(operation admission.Operation) runtime.Object {
	o := a.request.Options
	switch operation {
	case admission.Create:
		options := &metav1.CreateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation}
		options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
		return options
	case admission.Update:
		options := &metav1.UpdateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation}
		options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
		return options
	}
	if operation != admission.Delete {
		return nil
	}
	options := a.deletion.DeepCopy()
	if change, ok := a.request.Change.(Delete); ok && a.request.Collection {
		options = change.Options.DeepCopy() // all objects of a collection are deleted with copies of the options
	}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
	return options
}
