package server

import (
	"context"
	"fmt"
	"net"

	"github.com/fakecluster/fakecluster/internal/crd"
)

// serviceNetwork implements aggregation.Network over the services of a cluster.
type serviceNetwork struct{ services crd.Services }

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
