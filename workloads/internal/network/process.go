package network

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Process has the sockets of a container, of a kubelet, or of the test. Its methods are safe for concurrent use.
type Process struct {
	network *Network
	stack   *stack
	names   resolver
	done    chan struct{} // closed when the process ends

	mu      sync.Mutex
	closed  bool
	sockets map[socket]int // numbered in the order in which they were opened
	opened  int
	clients []*http.Transport
}

// socket is a listener or a connection.
type socket interface {
	shut(reset bool) (open bool)
}

func (n *Network) newProcess(s *stack, names resolver) *Process {
	return &Process{network: n, stack: s, names: names, done: make(chan struct{}), sockets: map[socket]int{}}
}

// Close ends the process: its listeners and connections are closed as by a kernel, and Dial returns. Peers can read the
// data written before. Further calls do nothing.
func (p *Process) Close() { p.end(false) }

// end closes the sockets. With reset, peers get ECONNRESET instead of io.EOF.
func (p *Process) end(reset bool) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	close(p.done)
	type numbered struct {
		socket
		number int
	}
	var open []numbered
	for s, number := range p.sockets {
		open = append(open, numbered{s, number})
	}
	p.sockets = nil
	clients := p.clients
	p.mu.Unlock()
	slices.SortFunc(open, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	for _, s := range open {
		s.shut(reset)
	}
	for _, t := range clients {
		t.CloseIdleConnections()
	}
}

func (p *Process) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// remember adds a socket to be closed when the process ends. It returns false if the process has ended.
func (p *Process) remember(s socket) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.opened++
	p.sockets[s] = p.opened
	return true
}

// forget removes a socket that is closed.
func (p *Process) forget(s socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sockets, s)
}

// HTTPClient returns a client whose connections go through the network, with HTTP/2 over TLS and without a proxy. Its
// Transport is an *http.Transport of its own: set the TLSClientConfig before the first request. Its connections are
// closed when the process ends. Each call returns a new client; keep it.
func (p *Process) HTTPClient() *http.Client {
	t := &http.Transport{
		DialContext: p.Dial, ForceAttemptHTTP2: true,
		MaxIdleConns: 100, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.clients = append(p.clients, t)
	}
	return &http.Client{Transport: t}
}
