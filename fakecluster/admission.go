package fakecluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	upstream "k8s.io/apiserver/pkg/admission"

	"github.com/fakecluster/fakecluster/internal/admission"
)

// AdmissionRequest is a write that a function of the test's own is asked about.
type AdmissionRequest struct {
	// AdmissionRequest says who wants to do what to which object. Its fields are
	// those that a webhook is sent, but for the UID and the raw objects, which are
	// empty.
	admissionv1.AdmissionRequest

	// Object is the object to be, in the version of the request; nil for a delete. A
	// function that mutates may change it, to whatever encoding/json can encode.
	Object *unstructured.Unstructured
	// OldObject is the object as it is; nil for a create.
	OldObject *unstructured.Unstructured
}

// AdmissionFunc judges one write. An error refuses it: one that has a Status, as the
// errors of k8s.io/apimachinery/pkg/api/errors have, is the answer as it is, and
// any other becomes a 403 that says KIND "NAME" is forbidden and gives the text.
//
// Warnings for the client are given by k8s.io/apiserver/pkg/warning.AddWarning with
// the context. The context ends with the request.
//
// It is called by several goroutines at once, as many as there are
// writes under way. It may use the cluster's clients; what it writes is
// asked about in turn.
type AdmissionFunc func(ctx context.Context, r *AdmissionRequest) error

// WithAdmission asks Go functions about each write, of whatever kind: creates,
// updates, patches and deletes of objects and subresources, and those that the
// server makes itself. It does without the configuration, the TLS and the JSON of
// webhooks, and works inside a testing/synctest bubble.
//
// Functions that mutate are called in the place of mutating admission webhooks and
// after those: what they change is defaulted, validated, and owned by no field
// manager. A write for which a webhook asks to be reinvoked they see twice.
// Functions that validate are called in the place of validating admission webhooks
// and after those: they see the object as it would be stored. Either may be nil. The
// option may be given more than once; the functions are called in that order, until
// one refuses.
//
// The four initial namespaces are not asked about. What WithCRDPaths and WithObjects
// bring is.
//
// Default: nobody is asked but the webhooks and policies that the cluster has
// been configured with.
func WithAdmission(mutate, validate AdmissionFunc) Option {
	return func(s *settings) {
		s.admission = append(s.admission, admissionFuncs{mutate, validate})
	}
}

// admissionFuncs are the functions of one WithAdmission.
type admissionFuncs struct{ mutate, validate AdmissionFunc }

// functions implement admission.Plugin.
type functions []admissionFuncs

// plugin is what the server asks, or nil.
func (f functions) plugin() admission.Plugin {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Mutate implements admission.Plugin.
func (f functions) Mutate(ctx context.Context, w *admission.Write) error {
	for _, one := range f {
		if one.mutate == nil {
			continue
		}
		if err := mutateBy(ctx, one.mutate, w); err != nil {
			return err
		}
	}
	return nil
}

// Validate implements admission.Plugin.
func (f functions) Validate(ctx context.Context, w *admission.Write) error {
	for _, one := range f {
		if one.validate == nil {
			continue
		}
		r, _, err := newAdmissionRequest(w)
		if err != nil {
			return err
		}
		if err := one.validate(ctx, r); err != nil {
			return refusal(w, err)
		}
	}
	return nil
}

// mutateBy asks one function, and takes over what it has made of the object.
func mutateBy(ctx context.Context, mutate AdmissionFunc, w *admission.Write) error {
	r, versioned, err := newAdmissionRequest(w)
	if err != nil {
		return err
	}
	var was *unstructured.Unstructured
	if r.Object != nil {
		was = r.Object.DeepCopy()
	}
	if err := mutate(ctx, r); err != nil {
		return refusal(w, err)
	}
	if was != nil && (r.Object == nil || r.Object.Object == nil) {
		return apierrors.NewInternalError(errors.New("a function of WithAdmission has taken the object away"))
	}
	if was == nil || equality.Semantic.DeepEqual(was.Object, r.Object.Object) {
		return nil
	}
	if err := asJSON(r.Object); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("a function of WithAdmission has made an object that is no JSON: %w", err))
	}
	var is runtime.Object = r.Object
	if typed := versioned.VersionedObject.Object(); !isMap(typed) {
		if is, err = w.GetObjectCreater().New(w.GetKind()); err != nil {
			return err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Object.Object, is); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	w.GetObjectDefaulter().Default(is)
	return w.Replace(is)
}

// asJSON makes JSON's own types of those that Go code likes to put into an object: an
// int, a map of strings, a struct.
func asJSON(u *unstructured.Unstructured) error {
	text, err := json.Marshal(u.Object)
	if err != nil {
		return err
	}
	u.Object = nil
	return utiljson.Unmarshal(text, &u.Object)
}

func isMap(obj runtime.Object) bool {
	_, ok := obj.(*unstructured.Unstructured)
	return ok
}

// refusal is the answer to what a function refuses.
func refusal(w *admission.Write, err error) error {
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		return err
	}
	return upstream.NewForbidden(w, err)
}

// newAdmissionRequest shows a write to a function, which may do with the objects what it
// likes.
func newAdmissionRequest(w *admission.Write) (*AdmissionRequest, *upstream.VersionedAttributes, error) {
	versioned, err := upstream.NewVersionedAttributes(w, w.GetKind(), w)
	if err != nil {
		return nil, nil, apierrors.NewInternalError(err)
	}
	kind, resource, dryRun := metav1.GroupVersionKind(w.GetKind()), metav1.GroupVersionResource(w.GetResource()), w.IsDryRun()
	r := &AdmissionRequest{AdmissionRequest: admissionv1.AdmissionRequest{
		Kind: kind, Resource: resource, SubResource: w.GetSubresource(),
		RequestKind: &kind, RequestResource: &resource, RequestSubResource: w.GetSubresource(),
		Name: w.GetName(), Namespace: w.GetNamespace(), Operation: admissionv1.Operation(w.GetOperation()),
		DryRun: &dryRun, Options: runtime.RawExtension{Object: w.GetOperationOptions()},
	}}
	if user := w.GetUserInfo(); user != nil {
		r.UserInfo = authenticationv1.UserInfo{Username: user.GetName(), UID: user.GetUID(), Groups: user.GetGroups()}
	}
	if r.Object, err = asMap(versioned.VersionedObject.Object()); err != nil {
		return nil, nil, apierrors.NewInternalError(err)
	}
	if r.OldObject, err = asMap(versioned.VersionedOldObject.Object()); err != nil {
		return nil, nil, apierrors.NewInternalError(err)
	}
	return r, versioned, nil
}

// asMap is a copy of an object as a map; nil of none.
func asMap(obj runtime.Object) (*unstructured.Unstructured, error) {
	if obj == nil {
		return nil, nil
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy(), nil
	}
	return upstream.ConvertObjectToUnstructured(obj)
}
