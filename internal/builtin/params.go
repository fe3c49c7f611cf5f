package builtin

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
)

// This file has the authorizer and resolvers with which upstream's strategies check that the author of a policy, or of a
// binding, may read the parameters.

// paramKinds returns the kind as the name of the resource, because upstream resolves kinds without a context, and so
// without a cluster. paramAuthorizer replaces it by the real name.
type paramKinds struct{}

// Resolve implements resolver.ResourceResolver.
func (paramKinds) Resolve(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	return kind.GroupVersion().WithResource(kind.Kind), nil
}

// paramAuthorizer is the authorizer of the cluster in the context. If no resource has the kind, the user must be allowed to
// read all resources of the group.
type paramAuthorizer struct{}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (paramAuthorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	c, err := ClusterFrom(ctx)
	if err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	record := authorizer.AttributesRecord{
		User: a.GetUser(), Verb: a.GetVerb(), ResourceRequest: true, Name: a.GetName(), Namespace: a.GetNamespace(),
		APIGroup: a.GetAPIGroup(), APIVersion: a.GetAPIVersion(), Resource: "*",
	}
	kind := schema.GroupVersionKind{Group: record.APIGroup, Version: record.APIVersion, Kind: a.GetResource()}
	if found, err := c.ResourceOf(kind); err == nil {
		record.Resource = found.Resource
	}
	return c.Decider().Authorize(ctx, record)
}

// policies reads the policies of bindings.
type policies struct{}

// GetValidatingAdmissionPolicy implements upstream's PolicyGetter.
func (policies) GetValidatingAdmissionPolicy(ctx context.Context, name string) (*admissionregistration.ValidatingAdmissionPolicy, error) {
	obj, err := getter{admissionregistration.Resource("validatingadmissionpolicies")}.Get(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	return obj.(*admissionregistration.ValidatingAdmissionPolicy), nil
}

// GetMutatingAdmissionPolicy implements upstream's PolicyGetter.
func (policies) GetMutatingAdmissionPolicy(ctx context.Context, name string) (*admissionregistration.MutatingAdmissionPolicy, error) {
	obj, err := getter{admissionregistration.Resource("mutatingadmissionpolicies")}.Get(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	return obj.(*admissionregistration.MutatingAdmissionPolicy), nil
}
