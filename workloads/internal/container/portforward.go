package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"

	//lint:ignore SA1019 the dialers of client-go are of its type
	"k8s.io/apimachinery/pkg/util/httpstream"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	clientspdy "k8s.io/client-go/transport/spdy"

	"github.com/fakecluster/fakecluster/internal/pipe"
)

// PortForward connects to a port of a pod through the subresource portforward, with a function that dials the API server.
func PortForward(ctx context.Context, dial dialFunc, config *clientrest.Config, namespace, pod string, port int) (net.Conn, error) {
	if config == nil {
		return nil, errors.New("PortForward: the configuration is nil")
	}
	namespace = cmp.Or(namespace, corev1.NamespaceDefault)
	for _, name := range []string{namespace, pod} {
		if wrong := content.IsPathSegmentName(name); name == "" || len(wrong) > 0 {
			return nil, fmt.Errorf("PortForward: %q is not the name of a Pod or a namespace", name)
		}
	}
	transport, upgrader, err := upgrades(dial, config)
	if err != nil {
		return nil, err
	}
	to := atAPIServer(&url.URL{Path: "/api/v1/namespaces/" + namespace + "/pods/" + pod + "/portforward"})
	client := &http.Client{Transport: withContext{transport, ctx}}
	connection, _, err := clientspdy.NewDialer(upgrader, client, http.MethodPost, to).Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	conn, err := openPort(connection, pod, port)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = connection.Close()
		return nil, err
	}
	return conn, nil
}

// withContext gives a context to the requests of a dialer, which have none.
type withContext struct {
	http.RoundTripper
	ctx context.Context
}

// RoundTrip implements http.RoundTripper.
func (w withContext) RoundTrip(req *http.Request) (*http.Response, error) {
	return w.RoundTripper.RoundTrip(req.WithContext(w.ctx))
}

// openPort opens the streams of a port. The connection ends with the returned one.
func openPort(connection httpstream.Connection, pod string, port int) (net.Conn, error) {
	header := http.Header{}
	header.Set(corev1.PortHeader, strconv.Itoa(port))
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	failures, err := connection.CreateStream(header)
	if err != nil {
		return nil, fmt.Errorf("forwarding port %d: %w", port, err)
	}
	_ = failures.Close() // nothing is written
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(header)
	if err != nil {
		return nil, fmt.Errorf("forwarding port %d: %w", port, err)
	}
	address := forwarded{pod, port}
	client, server := pipe.New(forwarded{}, address, address)
	closed, ended := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = io.Copy(data, server) // until the client has written everything
		_ = data.Close()
		select {
		case <-closed:
		case <-ended:
		}
		_ = connection.Close()
	}()
	go func() {
		defer close(ended)
		_, _ = io.Copy(server, data) // until the port or the client closes
		if text, _ := io.ReadAll(failures); len(text) > 0 {
			server.Break(fmt.Errorf("forwarding port %d: %s", port, text))
		}
		_ = server.Close()
	}()
	return &forwardedConn{Conn: client, closed: closed}, nil
}

// forwardedConn is a connection to a port of a pod.
type forwardedConn struct {
	*pipe.Conn
	once   sync.Once
	closed chan struct{}
}

// Close implements net.Conn.
func (c *forwardedConn) Close() error {
	defer c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// forwarded is the address of a port of a pod.
type forwarded struct {
	pod  string
	port int
}

// Network implements net.Addr.
func (forwarded) Network() string { return "tcp" }

// String implements net.Addr.
func (f forwarded) String() string { return net.JoinHostPort(f.pod, strconv.Itoa(f.port)) }
