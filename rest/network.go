package rest

import (
	"context"
	"fmt"
	"net"

	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/fakecluster/fakecluster/internal/crd"
)

// network implements aggregation.Network over the services of a cluster.
type network struct{ services webhook.ServiceResolver }

// Reaches implements aggregation.Network.
func (n network) Reaches(namespace, name string, port int32) bool {
	dialer, ok := n.services.(crd.Dialer)
	return ok && dialer.Handles(namespace, name, port)
}

// Address implements aggregation.Network.
func (n network) Address(namespace, name string, port int32) (string, error) {
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
func (n network) Dial(ctx context.Context, kind, address string) (net.Conn, error) {
	if dialer, ok := n.services.(crd.Dialer); ok {
		return dialer.DialContext(ctx, kind, address)
	}
	var d net.Dialer
	return d.DialContext(ctx, kind, address)
}
