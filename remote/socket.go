package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
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
	return newConn(p, network, r), nil
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
	return newConn(l.container, l.local.Network(), r), nil
}

func (l *listener) Close() error {
	_, err := l.container.do(map[string]any{"action": "close", "socket": l.socket})
	return err
}

// conn is a connection of a container. A goroutine reads ahead, when somebody reads: a deadline ends the waiting for it, and not its request, whose answer
// would be lost.
type conn struct {
	container     *Container
	socket        int
	local, remote net.Addr

	mu       sync.Mutex
	data     []byte
	err      error // of reading
	fetching bool
	closed   bool
	readBy   time.Time
	writeBy  time.Time
	changed  chan struct{} // closed, and replaced, when any of these change
}

func newConn(p *Container, network string, r result) *conn {
	return &conn{container: p, socket: r.Socket, local: podAddr{network, r.Local}, remote: podAddr{network, r.Remote}, changed: make(chan struct{})}
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// change wakes those who wait. The caller has the lock.
func (c *conn) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *conn) Read(p []byte) (int, error) {
	for {
		c.mu.Lock()
		switch {
		case c.closed:
			c.mu.Unlock()
			return 0, net.ErrClosed
		case !c.readBy.IsZero() && !time.Now().Before(c.readBy):
			c.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case len(c.data) > 0:
			n := copy(p, c.data)
			c.data = c.data[n:]
			c.mu.Unlock()
			return n, nil
		case c.err != nil:
			defer c.mu.Unlock()
			return 0, c.err
		}
		if !c.fetching {
			c.fetching = true
			go c.fetch()
		}
		changed, by := c.changed, c.readBy
		c.mu.Unlock()
		if by.IsZero() {
			<-changed
			continue
		}
		timer := time.NewTimer(time.Until(by))
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (c *conn) fetch() {
	r, err := c.container.do(map[string]any{"action": "read", "socket": c.socket})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data, c.err, c.fetching = r.Data, err, false
	c.change()
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	closed, by := c.closed, c.writeBy
	c.mu.Unlock()
	if closed {
		return 0, net.ErrClosed
	}
	ctx := context.Background()
	if !by.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, by)
		defer cancel()
	}
	if _, err := c.container.act(ctx, map[string]any{"action": "write", "socket": c.socket, "data": p}); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = os.ErrDeadlineExceeded
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrClosedPipe
		}
		return 0, err
	}
	return len(p), nil
}

func (c *conn) Close() error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.change()
	c.mu.Unlock()
	if closed {
		return net.ErrClosed
	}
	_, err := c.container.do(map[string]any{"action": "close", "socket": c.socket})
	return err
}

func (c *conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readBy, c.writeBy = t, t
	c.change()
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readBy = t
	c.change()
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeBy = t
	return nil
}
