package rest

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
)

// Network has the addresses in the initial objects of a server. All fields have useful zero
// values.
type Network struct {
	// Services is the range of the services' addresses, with at least eight of them. Zero:
	// 10.0.0.0/24.
	Services netip.Prefix
	// Secondary is a range of the other family; zero: there is none.
	Secondary netip.Prefix
	// Server is the address of the server. Zero: 192.0.2.1, or 2001:db8:ffff::1 if services have
	// IPv6 addresses; these are reserved for examples. For a loopback address the Service
	// kubernetes does not have Endpoints, because Endpoints may not have such an address.
	Server netip.Addr
	// Port is the port of the server. Zero: 6443.
	Port int
	// NodePorts are the node ports that services may have. Zero: 30000 to 32767.
	NodePorts utilnet.PortRange
}

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
	// Handles reports whether there is a handler for the service, so that no Service object
	// has to exist.
	Handles(namespace, name string, port int32) bool
	// AllowsAdmission reports whether a call of an admission webhook by a service counts as allowed, without being made.
	AllowsAdmission(webhook, namespace, name string, port int32) bool
	// Connected reports whether DialContext reaches the pods of the cluster, by their addresses and those of Services.
	Connected() bool
	// ClientCertificate returns the certificate that the server presents to aggregated API servers
	// on new connections, so that they trust the user in its headers; nil: none.
	ClientCertificate() *tls.Certificate
	// AuthenticationInfo returns the data of the ConfigMap extension-apiserver-authentication by
	// which such servers verify that certificate, with the keys of kube-apiserver; nil: none.
	AuthenticationInfo() map[string]string
	// Kubelet returns how to connect to the kubelet of a node, which speaks HTTP; nil: none runs there.
	Kubelet(node string) func(context.Context) (net.Conn, error)
}
