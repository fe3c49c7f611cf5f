package rest

import (
	"context"
	"fmt"
	"net"

	"k8s.io/apiserver/pkg/util/webhook"
)

// Services are the services that webhooks and APIServices refer to. A handler may stand for
// one, and connections to it need not be sockets.
type Services interface {
	// ServiceResolver finds the address of a service.
	webhook.ServiceResolver
	// DialContext connects to an address that ResolveEndpoint has returned, or to any other.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// ServerName returns the name in the certificate of a service; empty:
	// NAME.NAMESPACE.svc.
	ServerName(namespace, name string, port int32) string
	// Handles tells whether there is a handler for the service, so that no Service object
	// has to exist.
	Handles(namespace, name string, port int32) bool
}

// serviceNetwork implements aggregation.Network over the services of a cluster.
type serviceNetwork struct{ services Services }

// Reaches implements aggregation.Network.
func (n serviceNetwork) Reaches(namespace, name string, port int32) bool {
	return n.services != nil && n.services.Handles(namespace, name, port)
}

// Address implements aggregation.Network.
func (n serviceNetwork) Address(namespace, name string, port int32) (string, error) {
	if n.services == nil {
		return "", fmt.Errorf("service %q not found", name)
	}
	to, err := n.services.ResolveEndpoint(namespace, name, port)
	if err != nil {
		return "", err
	}
	return to.Host, nil
}

// Dial implements aggregation.Network.
func (n serviceNetwork) Dial(ctx context.Context, kind, address string) (net.Conn, error) {
	if n.services != nil {
		return n.services.DialContext(ctx, kind, address)
	}
	var d net.Dialer
	return d.DialContext(ctx, kind, address)
}
