package images

import (
	"context"
	"io"
	"net"
	"sync"
)

// dialer connects with one address.
type dialer = func(context.Context) (net.Conn, error)

// toMachine returns a dialer for an address of the machine.
func toMachine(to net.Addr) dialer {
	return func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, to.Network(), to.String())
	}
}

// forward connects the clients of a listener with an address, so that programs with sockets of the machine have a part in the network of the cluster.
// end ends all connections, and waits until they have ended.
func forward(l net.Listener, dial dialer) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { join(ctx, client, dial) })
		}
	})
	return func() {
		cancel()
		_ = l.Close()
		running.Wait()
	}
}

// join copies what a client sends to an address, and back, until one of them closes the connection or ctx ends.
func join(ctx context.Context, client net.Conn, dial dialer) {
	defer client.Close()
	server, err := dial(ctx)
	if err != nil {
		return // the client sees that the connection is closed
	}
	defer server.Close()
	end := func() {
		_ = client.Close()
		_ = server.Close()
	}
	defer context.AfterFunc(ctx, end)()
	var there sync.WaitGroup
	there.Go(func() {
		defer end()
		_, _ = io.Copy(server, client)
	})
	_, _ = io.Copy(client, server)
	end()
	there.Wait()
}
