package crd

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// webhookConverter returns the function that makes the converter of a definition with a
// conversion webhook. The converter is made when the first object needs it.
func webhookConverter(definition string, outside Outside) func() (runtime.ObjectConvertor, error) {
	return sync.OnceValues(func() (runtime.ObjectConvertor, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := json.Unmarshal([]byte(definition), &crd); err != nil {
			return nil, fmt.Errorf("reading the definition: %w", err)
		}
		factory, err := conversion.NewCRConverterFactory(outside.Services, func(r webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
			of := caller{outside: outside}
			if outside.Fails != nil {
				resource := schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
				of.fails = func(host string) error { return outside.Fails(resource, host) }
			}
			return of
		})
		if err != nil {
			return nil, err
		}
		_, unsafe, err := factory.NewConverter(&crd)
		return unsafe, err
	})
}

// Anonymous configures calls of webhooks, without credentials.
func (o Outside) Anonymous() webhook.AuthenticationInfoResolver { return caller{outside: o} }

// Credentials configures calls of webhooks with the credentials in a kubeconfig file, whose
// users are named by the hosts that they are for; empty: without credentials.
func (o Outside) Credentials(kubeconfig string) (webhook.AuthenticationInfoResolver, error) {
	if kubeconfig == "" {
		return o.Anonymous(), nil
	}
	users, err := webhook.NewDefaultAuthenticationInfoResolver(kubeconfig)
	return caller{outside: o, users: users}, err
}

// caller configures calls of webhooks. The user agent and the timeout are those of a real
// server.
type caller struct {
	outside Outside
	users   webhook.AuthenticationInfoResolver // nil: there are no credentials
	fails   func(host string) error            // see calls
}

// ClientConfigFor implements webhook.AuthenticationInfoResolver.
func (c caller) ClientConfigFor(host string) (*rest.Config, error) {
	config := &rest.Config{UserAgent: "kube-apiserver-admission", Timeout: 30 * time.Second}
	if c.users != nil {
		var err error
		if config, err = c.users.ClientConfigFor(host); err != nil {
			return nil, err
		}
	}
	return c.reach(config), nil
}

// reach makes calls reach what is outside. It sets Proxy to keep the transport out of
// client-go's cache, which belongs to the process and outlives a cluster.
func (c caller) reach(config *rest.Config) *rest.Config {
	config.Proxy = http.ProxyFromEnvironment
	config.Wrap(func(to http.RoundTripper) http.RoundTripper { return calls{to, c.outside.Closing, c.fails} })
	if c.outside.Services != nil {
		config.Dial = c.outside.Services.DialContext
	}
	return config
}

// ClientConfigForService implements webhook.AuthenticationInfoResolver. It uses no proxy,
// because a proxy could not resolve the names of services.
func (c caller) ClientConfigForService(name, namespace string, port int) (*rest.Config, error) {
	config, err := c.ClientConfigFor(net.JoinHostPort(name+"."+namespace+".svc", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	if c.outside.Services != nil {
		config.TLSClientConfig.ServerName = c.outside.Services.ServerName(namespace, name, int32(port))
	}
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	return config, nil
}
