package network

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/internal/pipe"
)

const (
	// receiveBuffer is the maximum of bytes that wait to be read, as net.core.rmem_default of Linux. Further packets are
	// dropped.
	receiveBuffer = 212992
	// longestPacket is the maximal payload of UDP over IPv4.
	longestPacket = 65507
)

// packet is a payload and its sender.
type packet struct {
	from netip.AddrPort
	data []byte
}

// packetConn is a UDP socket. Like *net.UDPConn it implements net.PacketConn, and net.Conn for the peer of Dial.
type packetConn struct {
	process *Process
	local   netip.AddrPort // an unspecified address stands for all of the pod
	remote  netip.AddrPort // the peer of Dial; the zero value: it has none
	handle  func(packet)   // gets packets in the sender's goroutine; nil: they wait to be read

	// flows are those that the socket has begun, by the address that it sends to. The lock of the network guards them.
	flows map[netip.AddrPort]*flow

	mu       sync.Mutex
	changed  *sync.Cond
	waiting  []packet
	size     int // bytes that wait
	failure  error
	closed   bool
	deadline pipe.Deadline
}

// ListenPacket opens a UDP port of the pod, such as ":53", "10.244.0.5:53" or "127.0.0.1:0"; port 0 means a free port.
// The network is udp, udp4 or udp6. The port is closed when the process ends. The errors are those of
// [net.ListenPacket].
func (p *Process) ListenPacket(network, address string) (net.PacketConn, error) {
	local, err := p.bindTo("udp", network, address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	c, err := p.newPacketConn(local, netip.AddrPort{})
	if err != nil {
		shown := net.UDPAddrFromAddrPort(local)
		if strings.HasPrefix(address, ":") {
			shown.IP = nil // as package net
		}
		return nil, &net.OpError{Op: "listen", Net: network, Addr: shown, Err: err}
	}
	return c, nil
}

// dialPacket returns a socket that sends to one address.
func (p *Process) dialPacket(to netip.AddrPort) (*packetConn, error) {
	p.network.mu.Lock()
	unreachable := p.network.unreachable(p.stack, to)
	p.network.mu.Unlock()
	if unreachable {
		return nil, os.NewSyscallError("connect", syscall.ENETUNREACH)
	}
	if to.Addr().IsUnspecified() {
		to = netip.AddrPortFrom(loopback, to.Port())
	}
	return p.newPacketConn(netip.AddrPortFrom(p.stack.source(to.Addr()), 0), to)
}

func (p *Process) newPacketConn(local, remote netip.AddrPort) (*packetConn, error) {
	c := &packetConn{process: p, local: local, remote: remote, flows: map[netip.AddrPort]*flow{}}
	c.changed = sync.NewCond(&c.mu)
	if err := p.stack.bind(p.stack.packets, c, &c.local); err != nil {
		return nil, err
	}
	if !p.remember(c) {
		p.stack.unbind(p.stack.packets, c)
		return nil, net.ErrClosed
	}
	return c, nil
}

func (c *packetConn) boundAt() netip.AddrPort { return c.local }

// receive queues a packet to be read.
func (c *packetConn) receive(p packet) {
	if c.handle != nil {
		c.handle(p)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.size+len(p.data) > receiveBuffer {
		return
	}
	c.waiting, c.size = append(c.waiting, p), c.size+len(p.data)
	c.changed.Broadcast()
}

// fail makes the next call return an error, as an ICMP message does. It does nothing for a socket without a peer.
func (c *packetConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.remote.IsValid() {
		c.failure = err
		c.changed.Broadcast()
	}
}

// next returns the next packet.
func (c *packetConn) next() (packet, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return packet{}, net.ErrClosed
		case c.deadline.Passed():
			return packet{}, os.ErrDeadlineExceeded
		case c.failure != nil:
			err := c.failure
			c.failure = nil
			return packet{}, err
		case len(c.waiting) > 0:
			p := c.waiting[0]
			c.waiting, c.size = c.waiting[1:], c.size-len(p.data)
			return p, nil
		}
		c.changed.Wait()
	}
}

// ReadFrom implements net.PacketConn. The part that does not fit into b is lost.
func (c *packetConn) ReadFrom(b []byte) (int, net.Addr, error) {
	p, err := c.next()
	if err != nil {
		return 0, nil, c.wrap("read", "recvfrom", c.RemoteAddr(), err)
	}
	return copy(b, p.data), net.UDPAddrFromAddrPort(p.from), nil
}

// Read implements net.Conn.
func (c *packetConn) Read(b []byte) (int, error) {
	p, err := c.next()
	return copy(b, p.data), c.wrap("read", "read", c.RemoteAddr(), err)
}

// WriteTo implements net.PacketConn. It does not wait.
func (c *packetConn) WriteTo(b []byte, to net.Addr) (int, error) {
	remote, ok := to.(*net.UDPAddr)
	switch {
	case !ok:
		return 0, c.wrap("write", "sendto", to, syscall.EINVAL)
	case c.remote.IsValid():
		return 0, c.wrap("write", "sendto", to, net.ErrWriteToConnected)
	}
	address := remote.AddrPort()
	return c.write(b, netip.AddrPortFrom(address.Addr().Unmap(), address.Port()), "sendto", to)
}

// Write implements net.Conn. It does not wait.
func (c *packetConn) Write(b []byte) (int, error) {
	if !c.remote.IsValid() {
		return 0, c.wrap("write", "write", nil, syscall.EDESTADDRREQ)
	}
	return c.write(b, c.remote, "write", c.RemoteAddr())
}

func (c *packetConn) write(b []byte, to netip.AddrPort, call string, shown net.Addr) (int, error) {
	c.mu.Lock()
	err := c.failure
	c.failure = nil
	if c.closed {
		err = net.ErrClosed
	}
	c.mu.Unlock()
	if err == nil && len(b) > longestPacket {
		err = syscall.EMSGSIZE
	}
	if err == nil {
		err = c.process.network.send(c, to, b)
	}
	if err != nil {
		return 0, c.wrap("write", call, shown, err)
	}
	return len(b), nil
}

// Close implements net.PacketConn and net.Conn.
func (c *packetConn) Close() error {
	if !c.shut(false) {
		return c.wrap("close", "close", c.RemoteAddr(), net.ErrClosed)
	}
	c.process.forget(c)
	return nil
}

func (c *packetConn) shut(bool) (open bool) {
	c.mu.Lock()
	open = !c.closed
	c.closed, c.waiting = true, nil
	c.deadline.Set(time.Time{}, c.changed)
	c.changed.Broadcast()
	c.mu.Unlock()
	if open {
		c.process.stack.unbind(c.process.stack.packets, c)
		c.process.network.forgetFlows(c)
	}
	return open
}

// LocalAddr implements net.PacketConn and net.Conn.
func (c *packetConn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(c.local) }

// RemoteAddr implements net.Conn. It returns nil if the socket has no peer.
func (c *packetConn) RemoteAddr() net.Addr {
	if !c.remote.IsValid() {
		return nil
	}
	return net.UDPAddrFromAddrPort(c.remote)
}

// SetDeadline implements net.PacketConn and net.Conn. Writes do not wait.
func (c *packetConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline implements net.PacketConn and net.Conn.
func (c *packetConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.wrap("set", "set", nil, net.ErrClosed)
	}
	c.deadline.Set(t, c.changed)
	return nil
}

// SetWriteDeadline implements net.PacketConn and net.Conn. Writes do not wait.
func (c *packetConn) SetWriteDeadline(time.Time) error { return nil }

// wrap returns an error as package net returns it.
func (c *packetConn) wrap(op, call string, to net.Addr, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(call, err)
	}
	return &net.OpError{Op: op, Net: "udp", Source: c.LocalAddr(), Addr: to, Err: err}
}
