package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// Dial connects the test to a port of a cluster with [Workloads], such as "web:80" of a Service or "10.244.0.5:8080" of a Pod, as
// workloads.Dial does. It needs no socket, so it works in bubbles. The network is tcp, tcp4, tcp6, udp, udp4 or udp6. The host and port of
// [Cluster.URL] are those of the API server, so that it is a dialer for clients of the cluster, too. ctx ends the attempt, and not the
// connection, which ends with the cluster.
//
// It fails in a cluster without workloads. The error of a port at which nobody listens is syscall.ECONNREFUSED, and that of a connection
// after its Close net.ErrClosed. A connection may be used by several goroutines at once; that of tcp has CloseWrite.
func (c *Cluster) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := c.checkPlace(); err != nil {
		return nil, err
	}
	if c.bubble == nil && address == c.address() {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return c.connect(ctx, network, map[string]any{"action": "dial", "network": network, "address": address})
}

// address returns the host and the port of the URL.
func (c *Cluster) address() string {
	to, err := url.Parse(c.URL())
	if err != nil {
		return ""
	}
	return to.Host
}

// HTTPClient returns a client that reaches the Pods and Services of a cluster with [Workloads] as [Cluster.Dial] does, a connection for
// each request.
func (c *Cluster) HTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: c.Dial, DisableKeepAlives: true}}
}

// PortForward connects to a TCP port of a Pod, as kubectl port-forward does, but without a local port, so it works in bubbles. It reaches
// ports on which the Pod listens on localhost, too. An empty namespace is default. It fails if the Pod does not run. If nothing listens on
// the port, the first Read returns the error. ctx ends the attempt, and not the connection, which ends with the cluster.
//
// It acts as the administrator, fails in a cluster without workloads, and cannot be used by a controller in an exploration. The connection
// has CloseWrite, may be used by several goroutines at once, and returns net.ErrClosed after its Close.
func (c *Cluster) PortForward(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	return c.connect(ctx, "tcp", map[string]any{"action": "portForward", "namespace": namespace, "pod": pod, "port": port})
}

// connect carries out an action that makes a connection.
func (c *Cluster) connect(ctx context.Context, network string, action map[string]any) (net.Conn, error) {
	r, err := c.actInNetwork(ctx, action)
	if err != nil {
		return nil, err
	}
	return newConn(c.actInNetwork, network, r), nil
}

// actInNetwork carries out an action in the network of the Pods.
func (c *Cluster) actInNetwork(ctx context.Context, action map[string]any) (result, error) {
	return c.act(ctx, "/network", action)
}

// upgrade sends a request that upgrades its connection. The body of an answer 101 is the connection.
func (c *Cluster) upgrade(req *http.Request) (*http.Response, error) {
	conn, err := c.Dial(req.Context(), "tcp", c.address())
	if err != nil {
		closeBody(req)
		return nil, fmt.Errorf("a request that upgrades its connection: %w", err)
	}
	stop := context.AfterFunc(req.Context(), func() { conn.Close() })
	reader := bufio.NewReader(conn)
	err = req.Write(conn)
	var answer *http.Response
	if err == nil {
		answer, err = http.ReadResponse(reader, req)
	}
	if err == nil && answer.StatusCode != http.StatusSwitchingProtocols {
		answer.Body = &refused{answer.Body, conn, req.Context(), stop}
		return answer, nil
	}
	switch {
	case !stop():
		return nil, context.Cause(req.Context())
	case err != nil:
		return nil, errors.Join(err, conn.Close())
	}
	answer.Body = &upgraded{conn, reader}
	return answer, nil
}

// upgraded is the connection of a request that has upgraded it.
type upgraded struct {
	net.Conn
	reader *bufio.Reader
}

func (u *upgraded) Read(p []byte) (int, error) { return u.reader.Read(p) }

// refused is the body of an answer that has not upgraded its connection. The end of the context closes the connection.
type refused struct {
	io.ReadCloser
	conn net.Conn
	ctx  context.Context
	stop func() bool
}

func (r *refused) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF && r.ctx.Err() != nil {
		err = context.Cause(r.ctx)
	}
	return n, err
}

func (r *refused) Close() error {
	r.stop()
	_ = r.conn.Close()       // it may be closed
	_ = r.ReadCloser.Close() // would read an answer until its end
	return nil
}
