package fakecluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
)

// memoryServer serves HTTPS through memory. It works inside a testing/synctest
// bubble, where sockets do not.
type memoryServer struct {
	server  *http.Server
	dialled chan net.Conn
	closed  chan struct{}
	left    sync.WaitGroup // goroutines
}

func serveInMemory(server *http.Server, config *tls.Config) *memoryServer {
	m := &memoryServer{server: server, dialled: make(chan net.Conn), closed: make(chan struct{})}
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			m.left.Add(1)
		case http.StateClosed:
			m.left.Done()
		}
	}
	m.left.Go(func() { _ = server.Serve(tls.NewListener(m, config)) }) // always that it is closed
	return m
}

var errServiceClosed = errors.New("the service is closed")

// DialContext makes a connection.
func (m *memoryServer) DialContext(ctx context.Context) (net.Conn, error) {
	client, server := newPipe()
	select {
	case m.dialled <- server:
		return client, nil
	case <-m.closed:
		return nil, errServiceClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (m *memoryServer) Accept() (net.Conn, error) {
	select {
	case conn := <-m.dialled:
		return conn, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener; the server calls it once.
func (m *memoryServer) Close() error {
	close(m.closed)
	return nil
}

// Addr implements net.Listener.
func (m *memoryServer) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

// stop ends all connections and waits for their handlers.
func (m *memoryServer) stop() {
	m.server.SetKeepAlivesEnabled(false) // for a connection that is just being made
	_ = m.server.Close()
	m.left.Wait()
}
