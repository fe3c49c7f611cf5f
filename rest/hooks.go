package rest

import (
	"fmt"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/admission/intree"
	"github.com/fakecluster/fakecluster/internal/crd"
)

// hooks has the clients that call admission webhooks. Each is made when it is first needed.
type hooks struct {
	mutating, validating func() (*webhook.ClientManager, error)

	mu   sync.Mutex
	made map[*clientrest.RESTClient]bool
}

// newHooks makes the clients. It fails if a file with credentials cannot be read.
func newHooks(outside crd.Outside, config intree.Configuration) (*hooks, error) {
	mutating, err := newHookClients(outside, "MutatingAdmissionWebhook", config.MutatingKubeconfig)
	if err != nil {
		return nil, err
	}
	validating, err := newHookClients(outside, "ValidatingAdmissionWebhook", config.ValidatingKubeconfig)
	return &hooks{made: map[*clientrest.RESTClient]bool{}, mutating: mutating, validating: validating}, err
}

func newHookClients(outside crd.Outside, plugin, kubeconfig string) (func() (*webhook.ClientManager, error), error) {
	credentials, err := outside.Credentials(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("couldn't init admission plugin %q: %w", plugin, err)
	}
	return sync.OnceValues(func() (*webhook.ClientManager, error) {
		m, err := webhook.NewClientManager(
			[]schema.GroupVersion{admissionv1beta1.SchemeGroupVersion, admissionv1.SchemeGroupVersion},
			admissionv1beta1.AddToScheme, admissionv1.AddToScheme)
		if err != nil {
			return nil, fmt.Errorf("making the clients of webhooks: %w", err)
		}
		m.SetAuthenticationInfoResolver(credentials)
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
	m, err := manager()
	if err != nil {
		return nil, err
	}
	client, err := m.HookClient(config)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made[client] = true
	return client, nil
}

// close closes the idle connections to webhooks, which may outlive the server.
func (h *hooks) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for client := range h.made {
		utilnet.CloseIdleConnectionsFor(client.Client.Transport)
	}
}
