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
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
)

// conversionWebhook converts objects with the conversion webhook of a definition.
type conversionWebhook struct {
	// calling returns the converter that calls the webhook, and unreached one whose calls fail without a connection.
	// Each is created when it is first needed.
	calling, unreached func() (runtime.ObjectConvertor, error)
	// fails returns the name of the fault that strikes the next call; empty: none.
	fails func() string
}

// newConversionWebhook returns the conversion webhook of a definition, which is JSON.
func newConversionWebhook(definition string, resource schema.GroupResource, outside Outside) *conversionWebhook {
	converter := func(caller webhook.AuthenticationInfoResolver) func() (runtime.ObjectConvertor, error) {
		return sync.OnceValues(func() (runtime.ObjectConvertor, error) {
			var crd apiextensionsv1.CustomResourceDefinition
			if err := json.Unmarshal([]byte(definition), &crd); err != nil {
				return nil, fmt.Errorf("reading the definition: %w", err)
			}
			factory, err := conversion.NewCRConverterFactory(outside.Services, func(webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver { return caller })
			if err != nil {
				return nil, err
			}
			_, unsafe, err := factory.NewConverter(&crd)
			return unsafe, err
		})
	}
	w := &conversionWebhook{calling: converter(outside.Anonymous()), unreached: converter(caller{outside: outside, unreached: true}), fails: func() string { return "" }}
	if outside.Fails != nil {
		w.fails = func() string { return outside.Fails(resource) }
	}
	return w
}

// ConvertToVersion converts an object or a list. The error of a call that a fault has struck is a
// faultinjection.CallError.
func (w *conversionWebhook) ConvertToVersion(in runtime.Object, to schema.GroupVersion) (runtime.Object, error) {
	converter, err := w.calling()
	if err != nil {
		return nil, err
	}
	fault := w.fails()
	if fault == "" {
		return converter.ConvertToVersion(in, to)
	}
	if converter, err = w.unreached(); err == nil {
		_, err = converter.ConvertToVersion(in, to)
	}
	return nil, &faultinjection.CallError{Fault: fault, Err: err}
}

// Anonymous configures calls of webhooks, without credentials.
func (o Outside) Anonymous() webhook.AuthenticationInfoResolver { return caller{outside: o} }

// Credentials configures calls of webhooks with the credentials in a kubeconfig file, whose users have the names of
// hosts; empty: without credentials.
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
	outside   Outside
	users     webhook.AuthenticationInfoResolver // nil: there are no credentials
	unreached bool                               // calls fail without a connection
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

// reach configures the transport of calls. It sets Proxy to keep the transport out of client-go's cache, which belongs
// to the process and outlives a cluster.
//
// Calls use HTTP/1.1. A real server uses HTTP/2 for a webhook with a loopback address, as those of tests have. But Go's
// HTTP server waits a second before it closes an idle HTTP/2 connection, which would delay each test.
func (c caller) reach(config *rest.Config) *rest.Config {
	config.Proxy, config.NextProtos = http.ProxyFromEnvironment, []string{"http/1.1"}
	config.Wrap(func(to http.RoundTripper) http.RoundTripper {
		if c.unreached {
			return unreached{to}
		}
		if t, ok := to.(*http.Transport); ok && bubble.Inside() {
			t.IdleConnTimeout = 0 // a bubble may be idle for virtual minutes, and a handshake takes longer than a call
		}
		return calls{to, c.outside.Closing}
	})
	config.Dial = bubble.DialContext
	if c.outside.Services != nil {
		config.Dial = c.outside.Services.DialContext
	}
	return config
}

// unreached is a transport whose requests fail without a connection.
type unreached struct{ to http.RoundTripper }

var _ utilnet.RoundTripperWrapper = unreached{}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (u unreached) WrappedRoundTripper() http.RoundTripper { return u.to }

// RoundTrip implements http.RoundTripper.
func (unreached) RoundTrip(req *http.Request) (*http.Response, error) {
	return nil, faultinjection.Unreached(req.URL.Host)
}

// ClientConfigForService implements webhook.AuthenticationInfoResolver. It does not use a proxy, which could not resolve
// the names of services.
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
