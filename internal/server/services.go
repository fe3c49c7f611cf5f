package server

import (
	"context"
	"crypto/tls"
	"net"

	"k8s.io/apiserver/pkg/util/webhook"
)

// Services resolves and reaches the services that webhooks and APIServices refer to. A handler may take the place of
// one, with connections in memory.
type Services interface {
	// ServiceResolver finds the address of a service.
	webhook.ServiceResolver
	// DialContext connects to an address, also to one that ResolveEndpoint has not returned.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// ServerName returns the name in the certificate of a service; empty:
	// NAME.NAMESPACE.svc.
	ServerName(namespace, name string, port int32) string
	// Handles reports whether a handler takes the place of the service, so that it needs no Service object.
	Handles(namespace, name string, port int32) bool
	// AllowsAdmission reports whether a call of an admission webhook by a service counts as allowed, without being made.
	AllowsAdmission(webhook, namespace, name string, port int32) bool
	// Connected reports whether DialContext reaches the pods of the cluster, at their IPs and at the cluster IPs of
	// Services.
	Connected() bool
	// ClientCertificate returns the certificate that the server presents to aggregated API servers
	// on new connections, so that they trust the user in its headers; nil: none.
	ClientCertificate() *tls.Certificate
	// AuthenticationInfo returns the data of the ConfigMap extension-apiserver-authentication by
	// which such servers verify that certificate, with the keys of kube-apiserver; nil: none.
	AuthenticationInfo() map[string]string
	// Kubelet returns a function that connects to the kubelet of a node, which speaks HTTP; nil: the node has none.
	Kubelet(node string) func(context.Context) (net.Conn, error)
}
