package server

import (
	"context"
	"crypto/tls"
	"net"

	"k8s.io/apiserver/pkg/util/webhook"
)

// Services are the services that webhooks and APIServices refer to. Package rest says what the methods do.
type Services interface {
	webhook.ServiceResolver
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	ServerName(namespace, name string, port int32) string
	Handles(namespace, name string, port int32) bool
	AllowsAdmission(webhook, namespace, name string, port int32) bool
	Connected() bool
	ClientCertificate() *tls.Certificate
	AuthenticationInfo() map[string]string
	Kubelet(node string) func(context.Context) (net.Conn, error)
}
