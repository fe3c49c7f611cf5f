package fakecluster

import (
	"context"
	cryptotls "crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"github.com/fakecluster/fakecluster/clientgo"
)

// limits are the limits of a cluster's sockets.
type limits struct {
	// header is how long a client may take to send the header of a request. The deadline of the request
	// limits its body.
	header time.Duration
	// idle is how long a connection may wait for its next request.
	idle time.Duration
	// connections is how many connections a listener accepts at a time. A request over a further one is
	// answered with 429, and that connection ends.
	connections int64
	// watches is how many watches the cluster may have at a time; 0: the server's default.
	watches int
	// standstill limits the requests at one moment of a bubble.
	standstill standstillLimits
}

// usualLimits has the timeouts of kube-apiserver for connections without a request. They do not end a watch:
// they apply before a request and between two.
var usualLimits = limits{header: 32 * time.Second, idle: 90 * time.Second, connections: 10_000, standstill: usualStandstill}

const (
	// idleConnections is how many idle connections a cluster's clients keep. A test with more
	// goroutines that send requests opens new connections.
	idleConnections = 100

	// idleTimeout is how long clients keep an idle connection. It is less than the server's, so that a client
	// does not send a request over a connection that the server closes at the same moment.
	idleTimeout = 60 * time.Second
)

// listen serves the cluster on a loopback socket. The address is that of its flags, or empty for
// any port.
func (c *Cluster) listen(tls bool, address string) (clientgo.Access, error) {
	access := clientgo.Access{Token: c.token}
	handler, err := c.handler()
	if err != nil {
		return access, err
	}
	var own secure
	if tls {
		if own, err = secured(); err != nil {
			return access, err
		}
	}
	bounds := c.settings.limits
	listener := httptest.NewUnstartedServer(nil)
	if address != "" {
		opened, err := net.Listen("tcp", address)
		if err != nil {
			_ = listener.Listener.Close()
			return access, fmt.Errorf("failed to create listener: failed to listen on %s: %w", address, err)
		}
		_ = listener.Listener.Close() // nothing uses it
		listener.Listener = opened
	}
	connections := &connections{most: bounds.connections}
	listener.Config = &http.Server{
		Handler:           connections.limit(refuseBrowsers(c.settings.flags.Serving.AnyName(), c.settings.flags.AllowedOrigins, handler)),
		ReadHeaderTimeout: bounds.header, IdleTimeout: bounds.idle,
		ConnContext: connections.begin, ConnState: connections.changed,
	}
	if tls {
		if !c.settings.flags.Serving.HTTP1 {
			// As in a real server, HTTP/2 does not depend on GODEBUG=http2server.
			if err := http2.ConfigureServer(listener.Config, nil); err != nil {
				_ = listener.Listener.Close()
				return access, err
			}
		}
		config, serverName := c.settings.flags.Serving.ConfigureTLS(own.certificate)
		startTLS(listener, config)
		access.CAData, access.ServerName = own.authority, serverName
	} else {
		listener.Start()
		// Without this transport, client-go shares one among all clusters of the
		// process, which keeps two idle connections for each host.
		access.Transport = c.atHome(&http.Transport{MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: idleTimeout})
	}
	access.URL = listener.URL
	c.listeners = append(c.listeners, listener)
	return access, nil
}

// startTLS does what StartTLS of httptest does, except parsing httptest's own certificate. That certificate
// is not used here, and parsing it takes as long as the rest of a fork.
func startTLS(s *httptest.Server, config *cryptotls.Config) {
	s.Listener = cryptotls.NewListener(s.Listener, config)
	s.Start()
	s.URL = "https" + strings.TrimPrefix(s.URL, "http")
}

// connections counts the open connections of a listener.
type connections struct {
	most int64
	open atomic.Int64
}

// surplusKey marks the context of a connection beyond the limit.
type surplusKey struct{}

// begin is http.Server.ConnContext.
func (c *connections) begin(ctx context.Context, _ net.Conn) context.Context {
	if c.open.Add(1) > c.most {
		return context.WithValue(ctx, surplusKey{}, true)
	}
	return ctx
}

// changed is http.Server.ConnState. It clears the write deadline of the previous request, because the next
// request may be a watch.
func (c *connections) changed(conn net.Conn, to http.ConnState) {
	if to == http.StateActive {
		_ = conn.SetWriteDeadline(time.Time{}) // fails if the connection is closed
	}
	if to == http.StateClosed || to == http.StateHijacked {
		c.open.Add(-1)
	}
}

// limit answers requests over connections beyond the limit with 429, in the words of an overloaded
// kube-apiserver.
func (c *connections) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if surplus, _ := req.Context().Value(surplusKey{}).(bool); surplus {
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, req)
	})
}
