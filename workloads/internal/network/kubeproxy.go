package network

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The ports of kube-proxy on each node.
const (
	proxyHealthPort = 10256
	proxyStatusPort = 10249 // on loopback
)

// proxyIdleTimeout is the time that a connection to kube-proxy waits for a request.
const proxyIdleTimeout = time.Minute

// healthPort is the key of Services in the index byAddress for their healthCheckNodePort.
func healthPort(port int32) string { return "health port " + strconv.Itoa(int(port)) }

// proxyAt returns the listener at a port of kube-proxy, for a client on a stack that finds no other listener; nil: there
// is none. kube-proxy does not run: its responses are computed from the Node, the Services and the EndpointSlices. The
// caller holds the lock.
func (n *Network) proxyAt(s *stack, to netip.AddrPort) *listener {
	node := n.nodeAt(to.Addr())
	if to.Addr().IsLoopback() && s.node != "" && s == n.nodeStacks[s.node] {
		node, _ = n.nodes.Get(s.node)
	}
	if node == nil {
		return nil
	}
	var handler http.Handler
	switch to.Port() {
	case proxyHealthPort:
		handler = proxyHealth(node)
	case proxyStatusPort:
		if !to.Addr().IsLoopback() {
			return nil
		}
		handler = proxyStatus()
	default:
		services := n.servicesBy(healthPort(int32(to.Port())))
		if len(services) == 0 {
			return nil
		}
		handler = n.serviceHealth(services[0], node.Name)
	}
	l := &listener{process: n.proxy, local: to}
	l.handle = func(c *conn) { n.serving.Go(func() { n.serveProxy(c, handler) }) }
	return l
}

// serveProxy answers the requests of a connection until it is closed.
func (n *Network) serveProxy(c *conn, handler http.Handler) {
	if !n.proxy.remember(c) {
		c.shut(true)
		return
	}
	ended := make(chan struct{})
	server := http.Server{
		Handler: handler, IdleTimeout: proxyIdleTimeout, ReadHeaderTimeout: proxyIdleTimeout, ErrorLog: log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				close(ended)
			}
		},
	}
	_ = server.Serve(&oneConnection{conn: c, ended: ended})
}

// oneConnection is a listener with one connection. It closes when the connection has ended.
type oneConnection struct {
	conn  *conn
	taken bool
	ended <-chan struct{}
}

// Accept implements net.Listener.
func (l *oneConnection) Accept() (net.Conn, error) {
	if !l.taken {
		l.taken = true
		return l.conn, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l *oneConnection) Close() error { return nil }

// Addr implements net.Listener.
func (l *oneConnection) Addr() net.Addr { return l.conn.LocalAddr() }

// proxyHealth serves /livez, and /healthz, which fails on a node that an autoscaler is about to remove.
func proxyHealth(node *corev1.Node) http.Handler {
	eligible := node.DeletionTimestamp == nil &&
		!slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "ToBeDeletedByClusterAutoscaler" })
	type family struct {
		LastUpdated time.Time `json:"lastUpdated"`
		Healthy     bool      `json:"healthy"`
	}
	type health struct {
		LastUpdated  time.Time                  `json:"lastUpdated"`
		CurrentTime  time.Time                  `json:"currentTime"`
		NodeEligible *bool                      `json:"nodeEligible,omitempty"`
		Healthy      bool                       `json:"healthy"`
		Status       map[corev1.IPFamily]family `json:"status"`
	}
	answer := func(w http.ResponseWriter, eligible *bool) {
		now := time.Now()
		writeHealth(w, eligible == nil || *eligible)
		data, _ := json.Marshal(health{now, now, eligible, true, map[corev1.IPFamily]family{corev1.IPv4Protocol: {now, true}}})
		_, _ = w.Write(data)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, &eligible) })
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, nil) })
	return mux
}

// proxyStatus serves /healthz and /proxyMode of kube-proxy on loopback.
func proxyStatus() http.Handler {
	mux := http.NewServeMux()
	say := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			_, _ = io.WriteString(w, text)
		}
	}
	mux.HandleFunc("/healthz", say("ok"))
	mux.HandleFunc("/proxyMode", say("nftables"))
	return mux
}

// serviceHealth tells a load balancer whether a node has ready endpoints of a Service.
func (n *Network) serviceHealth(service *corev1.Service, node string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		endpoints := n.readyOn(service, node)
		w.Header().Set("X-Load-Balancing-Endpoint-Weight", strconv.Itoa(endpoints))
		writeHealth(w, endpoints > 0)
		fmt.Fprintf(w, "{\n\t\"service\": {\n\t\t\"namespace\": %q,\n\t\t\"name\": %q\n\t},\n\t\"localEndpoints\": %d,\n\t\"serviceProxyHealthy\": true\n}",
			service.Namespace, service.Name, endpoints)
	})
}

// readyOn returns the number of ready endpoints of a Service on a node.
func (n *Network) readyOn(service *corev1.Service, node string) int {
	found := map[string]bool{}
	for _, slice := range n.slicesOf(service.Namespace, service.Name) {
		for i := range slice.Endpoints {
			if e := &slice.Endpoints[i]; e.NodeName != nil && *e.NodeName == node && len(e.Addresses) > 0 && isReady(e) && !isNotForProxy(slice.Labels) {
				found[e.Addresses[0]] = true
			}
		}
	}
	return len(found)
}

func writeHealth(w http.ResponseWriter, healthy bool) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !healthy {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}
