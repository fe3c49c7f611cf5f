package remote

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Listen listens on the Pod's network, which is in memory, as net.Listen: "tcp" and an address such as ":8443". Containers of a Pod share its
// ports. The listener ends with the container.
func (p *Container) Listen(network, address string) (net.Listener, error) {
	r, err := p.do(map[string]any{"action": "listen", "network": network, "address": address})
	if err != nil {
		return nil, err
	}
	return &listener{container: p, socket: r.Socket, local: podAddr{network, r.Local}}, nil
}

// Dial connects the container with a Pod, a Service, or the API server, by address or by a name of the cluster's DNS, as net.Dialer.DialContext. The
// connection ends with the container.
func (p *Container) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	r, err := p.act(ctx, map[string]any{"action": "dial", "network": network, "address": address})
	if err != nil {
		return nil, err
	}
	return newConn(p.act, network, r), nil
}

// HTTPClient returns a client that connects as [Container.Dial] does, a connection for each request.
func (p *Container) HTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.Dial, DisableKeepAlives: true}}
}

// podAddr is an address in the network of the Pods.
type podAddr struct{ network, address string }

func (a podAddr) Network() string { return a.network }
func (a podAddr) String() string  { return a.address }

// listener is a listener of a container.
type listener struct {
	container *Container
	socket    int
	local     net.Addr
}

func (l *listener) Addr() net.Addr { return l.local }

func (l *listener) Accept() (net.Conn, error) {
	r, err := l.container.do(map[string]any{"action": "accept", "socket": l.socket})
	if err != nil {
		return nil, err
	}
	return newConn(l.container.act, l.local.Network(), r), nil
}

func (l *listener) Close() error {
	_, err := l.container.do(map[string]any{"action": "close", "socket": l.socket})
	return err
}

// conn is a connection of a container or of the test.
type conn struct {
	socket
	local, remote net.Addr
}

func newConn(act actor, network string, r result) *conn {
	return &conn{socket: newSocket(act, r.Socket, "read"), local: podAddr{network, r.Local}, remote: podAddr{network, r.Remote}}
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// Read implements net.Conn. The rest of a UDP packet that does not fit into p is lost.
func (c *conn) Read(p []byte) (int, error) {
	n, _, err := c.receive(p, strings.HasPrefix(c.local.Network(), "udp"))
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	if err := c.send(map[string]any{"action": "write", "data": p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite sends the end of the stream, as that of a *net.TCPConn. The other direction stays open.
func (c *conn) CloseWrite() error {
	_, err := c.do("closeWrite")
	return err
}

// ListenPacket opens a UDP port of the Pod, as net.ListenPacket: "udp" and an address such as ":53". It ends with the container.
func (p *Container) ListenPacket(network, address string) (net.PacketConn, error) {
	r, err := p.do(map[string]any{"action": "listenPacket", "network": network, "address": address})
	if err != nil {
		return nil, err
	}
	return &packetConn{newSocket(p.act, r.Socket, "readFrom"), udpAddr(r.Local)}, nil
}

// udpAddr returns an address that the host has written.
func udpAddr(text string) net.Addr {
	address, err := netip.ParseAddrPort(text)
	if err != nil {
		return podAddr{"udp", text}
	}
	return net.UDPAddrFromAddrPort(address)
}

// packetConn is a UDP port of a container.
type packetConn struct {
	socket
	local net.Addr
}

func (c *packetConn) LocalAddr() net.Addr { return c.local }

func (c *packetConn) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.receive(p, true)
	if err != nil {
		return 0, nil, err
	}
	return n, udpAddr(from), nil
}

func (c *packetConn) WriteTo(p []byte, to net.Addr) (int, error) {
	if to == nil {
		return 0, &net.OpError{Op: "write", Net: c.local.Network(), Source: c.local, Err: errors.New("missing address")}
	}
	if err := c.send(map[string]any{"action": "writeTo", "data": p, "address": to.String()}); err != nil {
		return 0, err
	}
	return len(p), nil
}
