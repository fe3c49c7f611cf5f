package webhook

import (
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/apiserver/pkg/admission"
)

// review is the AdmissionReview for a webhook, and an empty one of the same version for its
// response.
type review struct {
	uid      types.UID
	request  runtime.Object
	response runtime.Object
}

// newReview returns the review in the first supported version of the webhook's list.
func newReview(uid types.UID, accepted []string, attr *upstream.VersionedAttributes, call *invocation) (*review, error) {
	for _, version := range accepted {
		switch version {
		case admissionv1.SchemeGroupVersion.Version:
			return &review{uid, &admissionv1.AdmissionReview{Request: newRequest(uid, attr, call)}, &admissionv1.AdmissionReview{}}, nil
		case admissionv1beta1.SchemeGroupVersion.Version:
			return &review{uid, &admissionv1beta1.AdmissionReview{Request: toV1beta1(newRequest(uid, attr, call))}, &admissionv1beta1.AdmissionReview{}}, nil
		}
	}
	return nil, errors.New("webhook does not accept known AdmissionReview versions (v1, v1beta1)")
}

func newRequest(uid types.UID, versioned *upstream.VersionedAttributes, call *invocation) *admissionv1.AdmissionRequest {
	attr := versioned.Attributes
	requestKind, requestResource := metav1.GroupVersionKind(attr.GetKind()), metav1.GroupVersionResource(attr.GetResource())
	user := attr.GetUserInfo()
	extra := make(map[string]authenticationv1.ExtraValue, len(user.GetExtra()))
	for key, values := range user.GetExtra() {
		extra[key] = values
	}
	dryRun := attr.IsDryRun()
	return &admissionv1.AdmissionRequest{
		UID:                uid,
		Kind:               metav1.GroupVersionKind(call.kind),
		Resource:           metav1.GroupVersionResource(call.resource),
		SubResource:        call.subresource,
		RequestKind:        &requestKind,
		RequestResource:    &requestResource,
		RequestSubResource: attr.GetSubresource(),
		Name:               attr.GetName(),
		Namespace:          attr.GetNamespace(),
		Operation:          admissionv1.Operation(attr.GetOperation()),
		UserInfo:           authenticationv1.UserInfo{Username: user.GetName(), UID: user.GetUID(), Groups: user.GetGroups(), Extra: extra},
		Object:             runtime.RawExtension{Object: versioned.VersionedObject.Object()},
		OldObject:          runtime.RawExtension{Object: versioned.VersionedOldObject.Object()},
		DryRun:             &dryRun,
		Options:            runtime.RawExtension{Object: attr.GetOperationOptions()},
	}
}

func toV1beta1(r *admissionv1.AdmissionRequest) *admissionv1beta1.AdmissionRequest {
	return &admissionv1beta1.AdmissionRequest{
		UID: r.UID, Kind: r.Kind, Resource: r.Resource, SubResource: r.SubResource,
		RequestKind: r.RequestKind, RequestResource: r.RequestResource, RequestSubResource: r.RequestSubResource,
		Name: r.Name, Namespace: r.Namespace, Operation: admissionv1beta1.Operation(r.Operation), UserInfo: r.UserInfo,
		Object: r.Object, OldObject: r.OldObject, DryRun: r.DryRun, Options: r.Options,
	}
}

// response is the response of a webhook, in either version of AdmissionReview.
type response struct {
	admissionv1.AdmissionResponse
	patchType admissionv1.PatchType
}

// check returns the response if it is valid. Few fields are required in v1beta1.
func (r *review) check(mutating bool) (*response, error) {
	if resp, ok := r.response.(*admissionv1.AdmissionReview); ok {
		if resp.Response == nil {
			return nil, errAbsent
		}
		return r.checkV1(resp, mutating)
	}
	a := r.response.(*admissionv1beta1.AdmissionReview).Response
	if a == nil {
		return nil, errAbsent
	}
	v := &response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed: a.Allowed, Result: a.Result, AuditAnnotations: a.AuditAnnotations, Warnings: a.Warnings,
	}}
	if mutating && len(a.Patch) > 0 {
		v.Patch, v.patchType = a.Patch, admissionv1.PatchTypeJSONPatch
	}
	return v, nil
}

var errAbsent = errors.New("webhook response was absent")

func (r *review) checkV1(resp *admissionv1.AdmissionReview, mutating bool) (*response, error) {
	a := resp.Response
	if a.UID != r.uid {
		return nil, fmt.Errorf("expected response.uid=%q, got %q", r.uid, a.UID)
	}
	want := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")
	if got := resp.GroupVersionKind(); got != want {
		return nil, fmt.Errorf("expected webhook response of %v, got %v", want, got)
	}
	v := &response{AdmissionResponse: *a}
	switch {
	case !mutating && len(a.Patch) > 0:
		return nil, errors.New("validating webhook may not return response.patch")
	case !mutating && a.PatchType != nil:
		return nil, errors.New("validating webhook may not return response.patchType")
	case len(a.Patch) > 0 && a.PatchType == nil:
		return nil, errors.New("webhook returned response.patch but not response.patchType")
	case len(a.Patch) == 0 && a.PatchType != nil:
		return nil, errors.New("webhook returned response.patchType but not response.patch")
	case a.PatchType != nil && *a.PatchType == "":
		return nil, fmt.Errorf("webhook returned invalid response.patchType of %q", *a.PatchType)
	case a.PatchType != nil:
		v.patchType = *a.PatchType
	}
	return v, nil
}
