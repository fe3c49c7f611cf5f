package builtin

import (
	"context"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	authenticationapi "k8s.io/kubernetes/pkg/apis/authentication"
	api "k8s.io/kubernetes/pkg/apis/core"
	serviceaccountstorage "k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// tokenRequest is the action of a TokenRequest.
var tokenRequest = &action{keepsMetadata: true, storage: func(ctx context.Context) (registryrest.NamedCreater, error) {
	c, err := ClusterFrom(ctx)
	if err != nil {
		return nil, err
	}
	generator, err := c.Tokens().Generator(c.Now)
	if err != nil {
		return nil, err
	}
	storage, err := serviceaccountstorage.NewREST(overCluster{}, generator, c.Tokens().Audiences(), contextAuthorizer{}, c.Tokens().MaxExpiration(),
		getter{podResource}, getter{api.Resource("secrets")}, getter{nodeResource},
		noWebhooks[*admissionregistrationv1.ValidatingWebhookConfiguration]{"validatingwebhookconfigurations"},
		noWebhooks[*admissionregistrationv1.MutatingWebhookConfiguration]{"mutatingwebhookconfigurations"},
		c.Tokens().ExtendsExpiration(), serviceaccount.ExpirationExtensionSeconds*time.Second)
	if err != nil {
		return nil, err
	}
	return datedTokens{storage.Token, c.Now}, nil
}}

// datedTokens sets the times in responses to TokenRequests by the clock of the cluster. Upstream's code uses the clock
// of the machine.
type datedTokens struct {
	registryrest.NamedCreater
	now func() time.Time
}

// Create implements registryrest.NamedCreater.
func (d datedTokens) Create(ctx context.Context, name string, obj runtime.Object, validate registryrest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	by := time.Until(d.now()).Round(time.Second)
	out, err := d.NamedCreater.Create(ctx, name, obj, validate, options)
	if request, ok := out.(*authenticationapi.TokenRequest); ok && err == nil {
		request.CreationTimestamp = metav1.NewTime(request.CreationTimestamp.Add(by))
		request.Status.ExpirationTimestamp = metav1.NewTime(request.Status.ExpirationTimestamp.Add(by))
	}
	return out, err
}

var (
	podResource  = api.Resource("pods")
	nodeResource = api.Resource("nodes")
)

// getter reads the objects of a kind in the cluster of the context.
type getter struct{ resource schema.GroupResource }

// Get implements rest.Getter. As in upstream's storage, a NotFound error has the resource of the request: if the log of
// a pod needs the node n, the error is that pods "n" is not found.
func (g getter) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if name == "" {
		return nil, apierrors.NewBadRequest("Name parameter required.")
	}
	c, err := ClusterFrom(ctx)
	if err != nil {
		return nil, err
	}
	obj, err := c.Object(g.resource, apirequest.NamespaceValue(ctx), name)
	if info, ok := apirequest.RequestInfoFrom(ctx); ok && apierrors.IsNotFound(err) {
		err = apierrors.NewNotFound(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, name)
	}
	return obj, err
}

// noWebhooks has no webhook configurations. Tokens can be bound to one only with an alpha feature gate.
type noWebhooks[T any] struct{ resource string }

// Get implements upstream's getter of webhook configurations.
func (w noWebhooks[T]) Get(_ context.Context, name string, _ metav1.GetOptions) (none T, err error) {
	return none, apierrors.NewNotFound(schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: w.resource}, name)
}
