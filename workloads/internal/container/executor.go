package container

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"

	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	clientspdy "k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// apiServer is the host of the API server in the network of the cluster.
const apiServer = "kubernetes.default.svc"

// NewSPDYExecutor is remotecommand.NewSPDYExecutor with a function that dials the API server. The host of the URL is
// ignored.
func NewSPDYExecutor(dial dialFunc, config *clientrest.Config, method string, to *url.URL) (remotecommand.Executor, error) {
	if config == nil || to == nil {
		return nil, errors.New("NewSPDYExecutor: the configuration or the URL is nil")
	}
	transport, upgrader, err := upgrades(dial, config)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewSPDYExecutorForTransports(transport, upgrader, method, atAPIServer(to))
}

// dialFunc is the signature of [net.Dialer.DialContext].
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// upgrades returns what upgrades requests to SPDY, with a function that dials the API server.
func upgrades(dial dialFunc, config *clientrest.Config) (http.RoundTripper, clientspdy.Upgrader, error) {
	// The connection does not leave the process, so no certificate is checked.
	upgrade, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{
		UpgradeTransport: &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	})
	if err != nil {
		return nil, nil, err
	}
	transport, err := clientrest.HTTPWrappersForConfig(config, upgrade)
	return transport, clientspdy.NewUpgraderForStreaming(upgrade), err
}

// atAPIServer returns the URL at the host of the API server.
func atAPIServer(to *url.URL) *url.URL {
	location := *to
	location.Scheme, location.Host = "https", apiServer
	return &location
}

// NewSPDYExecutor is remotecommand.NewSPDYExecutor for the configuration of [Container.RESTConfig], but it connects with
// [Container.Dial], where that function would open a socket.
func (c *Container) NewSPDYExecutor(config *clientrest.Config, method string, to *url.URL) (remotecommand.Executor, error) {
	return NewSPDYExecutor(c.Dial, config, method, to)
}
