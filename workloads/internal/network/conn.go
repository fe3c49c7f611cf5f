package network

import (
	"net"
	"net/netip"

	"github.com/fakecluster/fakecluster/internal/pipe"
)

// conn is one end of a connection. It implements net.Conn, and CloseWrite as a *net.TCPConn.
type conn struct {
	*pipe.Conn
	process *Process // the owner of the socket
}

// newConn returns the client's and the server's end of a connection. The client sees the dialed address, which may be
// that of a Service.
func newConn(client *Process, from, dialed netip.AddrPort, server *Process, served netip.AddrPort) (*conn, *conn) {
	there, back := pipe.New(tcpAddr(from), tcpAddr(dialed), tcpAddr(served))
	return &conn{there, client}, &conn{back, server}
}

func tcpAddr(a netip.AddrPort) *net.TCPAddr { return net.TCPAddrFromAddrPort(a) }

// Close implements net.Conn, as [pipe.Conn.Close] does.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.process.forget(c)
	return err
}

// shut implements socket.
func (c *conn) shut(reset bool) (open bool) { return c.Shut(reset) }
