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

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/admission"
)

// AdmissionRequest is a write that a function of WithAdmission admits or denies.
type AdmissionRequest struct {
	// AdmissionRequest has the user, the operation and the object's name and kind: the fields that
	// a webhook receives, except UID and the raw objects, which are empty.
	admissionv1.AdmissionRequest

	// Object is the object after the write, in the version of the request. It is nil for a
	// delete. A mutating function may change it, to values that encoding/json can encode.
	Object *unstructured.Unstructured
	// OldObject is the object before the write. It is nil for a create.
	OldObject *unstructured.Unstructured
}

// AdmissionFunc admits or denies one write. An error denies the write. If the error has a Status, as
// those of k8s.io/apimachinery/pkg/api/errors do, that Status is the response. For any other error
// the response is 403 with the message RESOURCE "NAME" is forbidden: TEXT OF THE ERROR.
//
// To warn the client, call k8s.io/apiserver/pkg/warning.AddWarning with the context. The context ends with
// the request. A request is answered at its deadline even if the function ignores the context; then nothing
// is stored.
//
// Several goroutines may call it at the same time, one for each write in progress. It
// may use the cluster's clients, and is called for its own writes, too.
type AdmissionFunc func(ctx context.Context, r *AdmissionRequest) error

// WithAdmission calls Go functions for each write of any kind: creates, updates, patches and
// deletes of objects and subresources, also those that the server makes itself. Unlike
// webhooks, they need no configuration, TLS or JSON, and work inside a testing/synctest
// bubble.
//
// A mutating function is called after the mutating webhooks and policies of the cluster. What
// it changes is defaulted and validated, and no field manager owns it. It is called twice if a
// webhook requests to be reinvoked. A validating function is called after the
// validating webhooks and policies, and sees the object as it would be stored. Either may be
// nil. The option may be given more than once; the functions are called in that order until
// one returns an error.
//
// They are called for what WithCRDPaths and WithObjects create, but not for the objects that
// every cluster has from its start.
//
// Default: only the webhooks and policies in the cluster admit or deny writes.
func WithAdmission(mutate, validate AdmissionFunc) Option {
	return func(s *settings) {
		s.admission = append(s.admission, admissionFuncs{mutate, validate})
	}
}

// admissionFuncs are the functions of one WithAdmission.
type admissionFuncs struct{ mutate, validate AdmissionFunc }

// functions implement admission.Plugin.
type functions []admissionFuncs

// plugin returns the functions as the server calls them; nil if there are none.
func (f functions) plugin() admission.Plugin {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Mutate implements admission.Plugin.
func (f functions) Mutate(ctx context.Context, w *admission.Write) error {
	return w.Explain(inspect.Function, admission.Mutating, "", func() error {
		for _, one := range f {
			if one.mutate == nil {
				continue
			}
			if err := mutateBy(ctx, one.mutate, w); err != nil {
				return err
			}
		}
		return nil
	})
}

// Validate implements admission.Plugin.
func (f functions) Validate(ctx context.Context, w *admission.Write) error {
	return w.Explain(inspect.Function, admission.Validating, "", func() error {
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
	})
}

// mutateBy calls one function, and replaces the object of the write if the function has changed it.
func mutateBy(ctx context.Context, mutate AdmissionFunc, w *admission.Write) error {
	r, versioned, err := newAdmissionRequest(w)
	if err != nil {
		return err
	}
	var former *unstructured.Unstructured
	if r.Object != nil {
		former = r.Object.DeepCopy()
	}
	if err := mutate(ctx, r); err != nil {
		return refusal(w, err)
	}
	if former != nil && (r.Object == nil || r.Object.Object == nil) {
		return apierrors.NewInternalError(errors.New("a function of WithAdmission has set the object to nil; return an error to deny the write"))
	}
	if former == nil || equality.Semantic.DeepEqual(former.Object, r.Object.Object) {
		return nil
	}
	if err := asJSON(r.Object); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("a function of WithAdmission has made an object that cannot be encoded as JSON: %w", err))
	}
	var object runtime.Object = r.Object
	if typed := versioned.VersionedObject.Object(); !isMap(typed) {
		if object, err = w.GetObjectCreater().New(w.GetKind()); err != nil {
			return err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Object.Object, object); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	w.GetObjectDefaulter().Default(object)
	return w.Replace(object)
}

// asJSON encodes and decodes an object, because a function may set values that an unstructured object cannot
// contain, such as an int, a map of strings or a struct.
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

// refusal returns the answer to a write that a function refuses.
func refusal(w *admission.Write, err error) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return err
	}
	return upstream.NewForbidden(w, err)
}

// newAdmissionRequest makes the request for a function. Its objects are copies that the
// function may change.
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

// asMap returns a copy of an object as a map; nil for nil.
func asMap(obj runtime.Object) (*unstructured.Unstructured, error) {
	if obj == nil {
		return nil, nil
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy(), nil
	}
	return upstream.ConvertObjectToUnstructured(obj)
}
