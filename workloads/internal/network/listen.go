package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/internal/pipe"
)

// backlog is the maximum of connections that wait for Accept, as net.core.somaxconn of Linux.
const backlog = 4096

// acceptLimit is the time that a connection waits for Accept. A real one waits forever, and so would the test.
const acceptLimit = time.Hour

// errNotAccepted is the error of a client after acceptLimit.
type errNotAccepted struct{}

func (errNotAccepted) Error() string {
	return fmt.Sprintf("the connection was not accepted for %v: the program that listens there must call Accept, or http.Serve", acceptLimit)
}

// Unwrap returns an error of the operating system, for errors.Is.
func (errNotAccepted) Unwrap() error { return syscall.ETIMEDOUT }

// listener is a TCP listener of a process.
type listener struct {
	process *Process
	local   netip.AddrPort // an unspecified address means all of the pod
	handle  func(*conn)    // gets connections instead of Accept, with the lock held; nil: they wait for Accept

	mu       sync.Mutex
	changed  *sync.Cond
	waiting  []waitingConn // not accepted yet
	closed   bool
	deadline pipe.Deadline
}

// Listen listens at a port of the pod, such as ":8443", "10.244.0.5:8443" or "127.0.0.1:0"; port 0 means a free port.
// The network is tcp, tcp4 or tcp6. Only the containers of the pod can reach loopback addresses. The listener is closed
// when the process ends. The errors are those of [net.Listen].
func (p *Process) Listen(network, address string) (net.Listener, error) {
	local, err := p.bindTo("tcp", network, address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	l := &listener{process: p, local: local}
	l.changed = sync.NewCond(&l.mu)
	failed := func(err error) (net.Listener, error) {
		shown := tcpAddr(local)
		if strings.HasPrefix(address, ":") {
			shown.IP = nil // as package net
		}
		return nil, &net.OpError{Op: "listen", Net: network, Addr: shown, Err: err}
	}
	if err := p.stack.bind(p.stack.listeners, l, &l.local); err != nil {
		return failed(err)
	}
	if !p.remember(l) {
		p.stack.unbind(p.stack.listeners, l)
		return failed(net.ErrClosed)
	}
	return l, nil
}

// bindTo returns the address at which a program listens with a protocol.
func (p *Process) bindTo(protocol, network, address string) (local netip.AddrPort, err error) {
	carried, err := protocolOf(network)
	if err != nil {
		return local, err
	}
	if carried != protocol {
		return local, &net.AddrError{Err: "unexpected address type", Addr: address}
	}
	host, port, err := splitAddress(network, address)
	if err != nil {
		return local, err
	}
	var ip netip.Addr
	switch host {
	case "":
		if ip = netip.IPv6Unspecified(); strings.HasSuffix(network, "4") {
			ip = netip.IPv4Unspecified()
		}
	case "localhost":
		if ip = loopback; strings.HasSuffix(network, "6") {
			ip = netip.IPv6Loopback()
		}
	default:
		if ip, err = netip.ParseAddr(host); err != nil {
			return local, p.names.noSuchHost(host)
		}
	}
	return netip.AddrPortFrom(ip.Unmap(), port), nil
}

// protocolOf returns the protocol of a network, tcp or udp.
func protocolOf(network string) (string, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
		return "tcp", nil
	case "udp", "udp4", "udp6":
		return "udp", nil
	case "unix", "unixgram", "unixpacket":
		return "", errors.New("the network of pods in fakecluster supports tcp and udp only")
	}
	return "", net.UnknownNetworkError(network)
}

// splitAddress splits an address into a host and a port. The port may be a name of /etc/services.
func splitAddress(network, address string) (string, uint16, error) {
	host, name, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.Atoi(name)
	if err != nil {
		// The C library's resolver uses a global channel, which must not belong to a bubble.
		if port, err = (&net.Resolver{PreferGo: true}).LookupPort(context.Background(), network, name); err != nil {
			return "", 0, err
		}
	}
	if port < 0 || port > 65535 {
		return "", 0, &net.AddrError{Err: "invalid port", Addr: name}
	}
	return host, uint16(port), nil
}

// bound is a listener, or a socket for packets.
type bound interface {
	boundAt() netip.AddrPort
}

// ports are the used ports of a protocol. The lock of the network guards them.
type ports map[uint16][]bound

// Socket is a port of a pod at which a program listens, or receives packets.
type Socket struct {
	Protocol string // tcp or udp
	Local    netip.AddrPort
}

// Listening returns the ports at which programs in the containers of the pod listen, by protocol and port.
func (p *Process) Listening() []Socket {
	p.network.mu.Lock()
	defer p.network.mu.Unlock()
	var found []Socket
	for protocol, in := range map[string]ports{"tcp": p.stack.listeners, "udp": p.stack.packets} {
		for _, port := range in {
			for _, b := range port {
				found = append(found, Socket{protocol, b.boundAt()})
			}
		}
	}
	slices.SortFunc(found, func(a, b Socket) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Local.Port(), b.Local.Port()), a.Local.Addr().Compare(b.Local.Addr()))
	})
	return found
}

// bind binds a socket to an address. It replaces port 0 by a free one.
func (s *stack) bind(in ports, b bound, local *netip.AddrPort) error {
	s.network.mu.Lock()
	defer s.network.mu.Unlock()
	ip := local.Addr()
	if !ip.IsUnspecified() && !ip.IsLoopback() && !s.has(ip) {
		return os.NewSyscallError("bind", syscall.EADDRNOTAVAIL)
	}
	if local.Port() == 0 {
		*local = netip.AddrPortFrom(ip, s.freePort(in))
	}
	for _, other := range in[local.Port()] {
		if overlap(ip, other.boundAt().Addr()) {
			return os.NewSyscallError("bind", syscall.EADDRINUSE)
		}
	}
	in[local.Port()] = append(in[local.Port()], b)
	return nil
}

// overlap reports whether two listeners at one port would get the same connections. "::" includes IPv4.
func overlap(a, b netip.Addr) bool {
	covers := func(a, b netip.Addr) bool { return a.IsUnspecified() && (a.Is6() || b.Is4()) }
	return a == b || covers(a, b) || covers(b, a)
}

func (s *stack) unbind(in ports, b bound) {
	s.network.mu.Lock()
	defer s.network.mu.Unlock()
	port := b.boundAt().Port()
	for i, other := range in[port] {
		if other == b {
			in[port] = append(in[port][:i:i], in[port][i+1:]...)
		}
	}
	if len(in[port]) == 0 {
		delete(in, port)
	}
}

// listener returns the listener at an address of the stack; nil: there is none. The caller holds the lock of the
// network.
func (s *stack) listener(local netip.AddrPort) *listener {
	for _, b := range s.listeners[local.Port()] {
		if overlap(b.boundAt().Addr(), local.Addr()) {
			return b.(*listener)
		}
	}
	return nil
}

// The range of ephemeral ports of Linux.
const firstPort, lastPort = 32768, 60999

// freePort returns a free port. The caller holds the lock of the network.
func (s *stack) freePort(in ports) uint16 {
	for range lastPort - firstPort {
		port := uint16(firstPort + s.given%(lastPort-firstPort+1))
		s.given++
		if len(in[port]) == 0 {
			return port
		}
	}
	return 0
}

// connect queues a connection for Accept. It reports whether there was room, and whether the listener is open.
func (l *listener) connect(c *conn) (room, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.waiting) >= backlog {
		return false, !l.closed
	}
	if l.handle != nil {
		l.handle(c)
		return true, true
	}
	l.waiting = append(l.waiting, waitingConn{c, time.AfterFunc(acceptLimit, func() { l.giveUp(c) })})
	l.changed.Broadcast()
	return true, true
}

// waitingConn is a connection that waits for Accept, with the timer that ends the wait.
type waitingConn struct {
	conn  *conn
	limit *time.Timer
}

// giveUp ends a connection that was not accepted in time.
func (l *listener) giveUp(c *conn) {
	l.mu.Lock()
	waiting := len(l.waiting)
	l.waiting = slices.DeleteFunc(l.waiting, func(w waitingConn) bool { return w.conn == c })
	gone := len(l.waiting) < waiting
	l.mu.Unlock()
	if gone {
		c.Break(errNotAccepted{})
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.next()
	if err == nil && !l.process.remember(c) {
		c.shut(true)
		err = net.ErrClosed
	}
	if err != nil {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: err}
	}
	return c, nil
}

func (l *listener) next() (*conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case l.closed:
			return nil, net.ErrClosed
		case l.deadline.Passed():
			return nil, os.ErrDeadlineExceeded
		case len(l.waiting) > 0:
			first := l.waiting[0]
			l.waiting = l.waiting[1:]
			first.limit.Stop()
			return first.conn, nil
		}
		l.changed.Wait()
	}
}

// Close implements net.Listener. Connections that were not accepted are reset.
func (l *listener) Close() error {
	if !l.shut(false) {
		return &net.OpError{Op: "close", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	}
	l.process.forget(l)
	return nil
}

func (l *listener) shut(bool) (open bool) {
	l.mu.Lock()
	open = !l.closed
	waiting := l.waiting
	l.closed, l.waiting = true, nil
	l.deadline.Set(time.Time{}, l.changed)
	l.changed.Broadcast()
	l.mu.Unlock()
	for _, w := range waiting {
		w.limit.Stop()
		w.conn.shut(true)
	}
	if open {
		l.process.stack.unbind(l.process.stack.listeners, l)
	}
	return open
}

// SetDeadline ends Accept at a time, like *net.TCPListener.SetDeadline.
func (l *listener) SetDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return &net.OpError{Op: "set", Net: "tcp", Addr: tcpAddr(l.local), Err: net.ErrClosed}
	}
	l.deadline.Set(t, l.changed)
	return nil
}

func (l *listener) boundAt() netip.AddrPort { return l.local }

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return tcpAddr(l.local) }
