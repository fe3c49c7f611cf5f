package builtin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	serviceaccountstorage "k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// Issuer is who issues the tokens of service accounts, and whom they are for if a request for one
// does not say it. It is what kubeadm tells kube-apiserver.
const Issuer = "https://kubernetes.default.svc.cluster.local"

// TokenIssuer issues the tokens of service accounts. They are JSON Web Tokens, signed with a key
// that it makes when it is first needed. The zero value is ready for use. It is safe for
// concurrent use. A cluster and its forks share one.
type TokenIssuer struct {
	once      sync.Once
	generator serviceaccount.TokenGenerator
	public    *ecdsa.PublicKey
	err       error
}

func (i *TokenIssuer) make() {
	i.once.Do(func() {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err == nil {
			i.public = &key.PublicKey
			i.generator, err = serviceaccount.JWTTokenGenerator(Issuer, key)
		}
		if err != nil {
			i.err = fmt.Errorf("making the key of service account tokens: %w", err)
		}
	})
}

// PublicKey verifies the tokens.
func (i *TokenIssuer) PublicKey() (*ecdsa.PublicKey, error) {
	i.make()
	return i.public, i.err
}

// tokenRequest answers a TokenRequest.
var tokenRequest = &action{keepsMetadata: true, storage: func(ctx context.Context) (registryrest.NamedCreater, error) {
	c, err := clusterFrom(ctx)
	if err != nil {
		return nil, err
	}
	issuer := c.Tokens()
	if issuer.make(); issuer.err != nil {
		return nil, issuer.err
	}
	storage, err := serviceaccountstorage.NewREST(overCluster{}, issuer.generator, authenticator.Audiences{Issuer}, everybody, 0,
		getter{podResource}, getter{api.Resource("secrets")}, getter{nodeResource},
		noWebhooks[*admissionregistrationv1.ValidatingWebhookConfiguration]{"validatingwebhookconfigurations"},
		noWebhooks[*admissionregistrationv1.MutatingWebhookConfiguration]{"mutatingwebhookconfigurations"},
		true, serviceaccount.ExpirationExtensionSeconds*time.Second)
	if err != nil {
		return nil, err
	}
	return storage.Token, nil
}}

var (
	podResource  = api.Resource("pods")
	nodeResource = api.Resource("nodes")
)

// getter reads the objects of a kind in the cluster of the context.
type getter struct{ of schema.GroupResource }

// Get implements rest.Getter.
func (g getter) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	c, err := clusterFrom(ctx)
	if err != nil {
		return nil, err
	}
	return c.Object(g.of, apirequest.NamespaceValue(ctx), name)
}

// noWebhooks finds no webhook configuration. Tokens can only be bound to one under an alpha
// feature gate.
type noWebhooks[T any] struct{ resource string }

// Get implements upstream's getter of webhook configurations.
func (w noWebhooks[T]) Get(_ context.Context, name string, _ metav1.GetOptions) (none T, err error) {
	return none, apierrors.NewNotFound(schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: w.resource}, name)
}
