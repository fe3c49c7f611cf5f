package pipe

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
)

// Server serves HTTPS over in-memory connections.
type Server struct {
	server  *http.Server
	dialled chan net.Conn
	closed  chan struct{}
	left    sync.WaitGroup // goroutines
}

// Serve starts a server. The caller must call Stop.
func Serve(server *http.Server, config *tls.Config) *Server {
	s := &Server{server: server, dialled: make(chan net.Conn), closed: make(chan struct{})}
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.left.Add(1)
		case http.StateClosed:
			s.left.Done()
		}
	}
	s.left.Go(func() { _ = server.Serve(tls.NewListener(s, config)) }) // always ErrServerClosed
	return s
}

var errServiceClosed = errors.New("the service is closed")

// DialContext makes a connection.
func (s *Server) DialContext(ctx context.Context) (net.Conn, error) {
	client, server := New(memory{}, memory{}, memory{})
	select {
	case s.dialled <- server:
		return client, nil
	case <-s.closed:
		return nil, errServiceClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (s *Server) Accept() (net.Conn, error) {
	select {
	case conn := <-s.dialled:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener; the server calls it once.
func (s *Server) Close() error {
	close(s.closed)
	return nil
}

// Addr implements net.Listener.
func (s *Server) Addr() net.Addr { return memory{} }

// memory is the address of all servers and of their clients.
type memory struct{}

func (memory) Network() string { return "memory" }
func (memory) String() string  { return "memory" }

// Stop ends all connections and waits for their handlers.
func (s *Server) Stop() {
	s.server.SetKeepAlivesEnabled(false) // for a connection that is just being made
	_ = s.server.Close()
	s.left.Wait()
}
