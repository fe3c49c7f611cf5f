package pipe

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Conn is one end of a connection. It implements net.Conn, and CloseWrite as a *net.TCPConn.
type Conn struct {
	in, out       *stream
	local, remote net.Addr
}

// New returns the client's and the server's end of a connection. The client sees the dialed address, which may differ
// from the server's own.
func New(client, dialed, server net.Addr) (*Conn, *Conn) {
	there, back := newStream(), newStream()
	return &Conn{in: back, out: there, local: client, remote: dialed}, &Conn{in: there, out: back, local: server, remote: client}
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.in.read(b)
	return n, c.wrap("read", err)
}

// Write implements net.Conn. It waits while the other end does not read and the buffer is full.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.out.write(b)
	return n, c.wrap("write", err)
}

// Close implements net.Conn. The other end reads the data written before, and then io.EOF, or ECONNRESET if this end has
// unread data.
func (c *Conn) Close() error {
	if !c.Shut(false) {
		return c.wrap("close", net.ErrClosed)
	}
	return nil
}

// Shut closes the connection. With reset, the other end gets ECONNRESET instead of io.EOF. It reports whether the connection was open.
func (c *Conn) Shut(reset bool) (open bool) {
	open, lost := c.in.close(reset)
	c.out.end(net.ErrClosed, open && (reset || lost))
	return open
}

// Break ends the connection for both ends with an error, and drops unread data.
func (c *Conn) Break(err error) {
	c.in.breakOff(err)
	c.out.breakOff(err)
}

// CloseWrite sends the end of the stream. The other direction stays open.
func (c *Conn) CloseWrite() error {
	if c.out.over() {
		return c.wrap("close", net.ErrClosed)
	}
	c.out.end(syscall.EPIPE, false)
	return nil
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.in.setReadDeadline(t); err != nil {
		return c.wrap("set", err)
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.wrap("set", c.in.setReadDeadline(t)) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.setWriteDeadline(t) // no effect after CloseWrite
	return nil
}

// wrap returns an error as package net returns it.
func (c *Conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if _, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, err)
	}
	return &net.OpError{Op: op, Net: c.local.Network(), Source: c.local, Addr: c.remote, Err: err}
}
