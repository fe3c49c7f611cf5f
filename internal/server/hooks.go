package server

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/utils/lru"

	"github.com/fakecluster/fakecluster/internal/admission/plugins"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// hooks has the clients that call admission webhooks. Each is created when it is first needed.
type hooks struct {
	mutating, validating func() (*webhook.ClientManager, error)
	allowing             func() (*webhook.ClientManager, error) // for calls that count as allowed
	services             Services                               // nil: none

	// used has the latest clients, whose idle connections close closes.
	used *lru.Cache
}

// maxHookClients is the number of clients that upstream keeps for one phase of admission. There are two phases.
const maxHookClients = 200

// newHooks returns hooks. It fails if a file with credentials cannot be read.
func newHooks(outside crd.Outside, services Services, engine *faultinjection.Engine, config plugins.Configuration) (*hooks, error) {
	over := func(to http.RoundTripper) http.RoundTripper { return hookCalls{to, engine} }
	mutating, err := newHookClients(outside, over, "MutatingAdmissionWebhook", config.MutatingKubeconfig)
	if err != nil {
		return nil, err
	}
	validating, err := newHookClients(outside, over, "ValidatingAdmissionWebhook", config.ValidatingKubeconfig)
	if err != nil {
		return nil, err
	}
	allowing, err := newHookClients(outside, func(http.RoundTripper) http.RoundTripper { return over(allowed{}) }, "ValidatingAdmissionWebhook", "")
	used := lru.NewWithEvictionFunc(2*maxHookClients, func(client lru.Key, _ any) { closeIdle(client) })
	return &hooks{used: used, mutating: mutating, validating: validating, allowing: allowing, services: services}, err
}

func closeIdle(client lru.Key) {
	utilnet.CloseIdleConnectionsFor(client.(*clientrest.RESTClient).Client.Transport)
}

func newHookClients(outside crd.Outside, over transport.WrapperFunc, plugin, kubeconfig string) (func() (*webhook.ClientManager, error), error) {
	credentials, err := outside.Credentials(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("couldn't init admission plugin %q: %w", plugin, err)
	}
	return sync.OnceValues(func() (*webhook.ClientManager, error) {
		m, err := webhook.NewClientManager(
			[]schema.GroupVersion{admissionv1beta1.SchemeGroupVersion, admissionv1.SchemeGroupVersion},
			admissionv1beta1.AddToScheme, admissionv1.AddToScheme)
		if err != nil {
			return nil, fmt.Errorf("creating the clients of webhooks: %w", err)
		}
		m.SetAuthenticationInfoResolver(wrapped{credentials, over})
		m.SetServiceResolver(outside.Services)
		return &m, nil
	}), nil
}

// client returns the client of a webhook.
func (h *hooks) client(config webhook.ClientConfig, mutating bool) (*clientrest.RESTClient, error) {
	manager := h.validating
	if mutating {
		manager = h.mutating
	}
	if h.allows(config) {
		manager, config.CABundle = h.allowing, nil // need not be valid
	}
	m, err := manager()
	if err != nil {
		return nil, err
	}
	client, err := m.HookClient(config)
	if err != nil {
		return nil, err
	}
	h.used.Add(client, nil)
	return client, nil
}

// allows reports whether calls of a webhook count as allowed without being made.
func (h *hooks) allows(config webhook.ClientConfig) bool {
	to := config.Service
	if to == nil || h.services == nil {
		return false
	}
	return h.services.AllowsAdmission(config.Name, to.Namespace, to.Name, cmp.Or(to.Port, 443))
}

// wrapped is a resolver that adds a wrapper to the transport of calls of webhooks.
type wrapped struct {
	webhook.AuthenticationInfoResolver
	over transport.WrapperFunc
}

// ClientConfigFor implements webhook.AuthenticationInfoResolver.
func (c wrapped) ClientConfigFor(host string) (*clientrest.Config, error) {
	return c.wrap(c.AuthenticationInfoResolver.ClientConfigFor(host))
}

// ClientConfigForService implements webhook.AuthenticationInfoResolver.
func (c wrapped) ClientConfigForService(name, namespace string, port int) (*clientrest.Config, error) {
	return c.wrap(c.AuthenticationInfoResolver.ClientConfigForService(name, namespace, port))
}

func (c wrapped) wrap(config *clientrest.Config, err error) (*clientrest.Config, error) {
	if err == nil {
		config.Wrap(c.over)
	}
	return config, err
}

// hookCalls is a transport for calls of webhooks that fails a call if a fault strikes it.
type hookCalls struct {
	to     http.RoundTripper
	faults *faultinjection.Engine
}

var _ utilnet.RoundTripperWrapper = hookCalls{}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (c hookCalls) WrappedRoundTripper() http.RoundTripper { return c.to }

// RoundTrip implements http.RoundTripper.
func (c hookCalls) RoundTrip(req *http.Request) (*http.Response, error) {
	if fault, err := c.faults.FailWebhook(req.Context(), hostOf(req)); err != nil {
		observe.From(req.Context()).Fault(fault)
		return nil, err
	}
	return c.to.RoundTrip(req)
}

// hostOf returns the host and the port of a request.
func hostOf(req *http.Request) string {
	if req.URL.Port() == "" {
		return net.JoinHostPort(req.URL.Hostname(), "443") // the calls use HTTPS only
	}
	return req.URL.Host
}

// close closes the idle connections to webhooks, which may outlive the server.
func (h *hooks) close() { h.used.Clear() }
