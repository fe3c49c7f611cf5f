package server

import (
	"context"
	"crypto/tls"
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
