package network

import (
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// conn is one end of a connection. It implements net.Conn, and CloseWrite as a *net.TCPConn.
type conn struct {
	in, out       *stream
	local, remote *net.TCPAddr
	process       *Process // whose socket it is
}

// newConn returns the ends of a connection. The client sees the address that it has dialed, which may be that of a Service.
func newConn(client *Process, from, dialed netip.AddrPort, server *Process, served netip.AddrPort) (*conn, *conn) {
	there, back := newStream(), newStream()
	return &conn{in: back, out: there, local: tcpAddr(from), remote: tcpAddr(dialed), process: client},
		&conn{in: there, out: back, local: tcpAddr(served), remote: tcpAddr(from), process: server}
}

func tcpAddr(a netip.AddrPort) *net.TCPAddr { return net.TCPAddrFromAddrPort(a) }

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.in.read(b)
	return n, c.wrap("read", err)
}

// Write implements net.Conn. It waits while the other end does not read and the buffer is full.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.out.write(b)
	return n, c.wrap("write", err)
}

// Close implements net.Conn. The other end reads what was written before, and then io.EOF; or ECONNRESET if this end has not read
// all that the other one has written.
func (c *conn) Close() error {
	open := c.shut(false)
	c.process.forget(c)
	if !open {
		return c.wrap("close", net.ErrClosed)
	}
	return nil
}

// shut closes the connection. It reports whether it was open.
func (c *conn) shut(reset bool) (open bool) {
	open, lost := c.in.close(reset)
	c.out.end(net.ErrClosed, open && (reset || lost))
	return open
}

// CloseWrite sends the end of the stream. The other direction stays open.
func (c *conn) CloseWrite() error {
	if c.out.over() {
		return c.wrap("close", net.ErrClosed)
	}
	c.out.end(syscall.EPIPE, false)
	return nil
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.in.setReadDeadline(t); err != nil {
		return c.wrap("set", err)
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.wrap("set", c.in.setReadDeadline(t)) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.setWriteDeadline(t) // of a direction that CloseWrite has closed it has no effect
	return nil
}

// wrap makes an error of package net.
func (c *conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if _, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, err)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}
