package network

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	// connectTimeout is the time after which Linux gives up connecting to an address that does not answer.
	connectTimeout = 127 * time.Second
	// neighborTimeout is the time after which Linux gives up looking for a neighbor.
	neighborTimeout = 3 * time.Second
)

// Dial connects to an address such as "10.244.0.5:8080", "localhost:8080", "web:80" or "web.default.svc.cluster.local:http". The
// network is tcp, tcp4, tcp6, udp, udp4 or udp6. The connection is closed when the process ends. The errors are those of
// [net.Dialer.DialContext].
func (p *Process) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	failed := func(err error) (net.Conn, error) { return nil, &net.OpError{Op: "dial", Net: network, Err: err} }
	protocol, err := protocolOf(network)
	if err != nil {
		return failed(err)
	}
	host, port, err := splitAddress(network, address)
	if err != nil {
		return failed(err)
	}
	ips, err := p.names.addresses(host)
	if err != nil {
		return failed(err)
	}
	var first error
	for _, ip := range ips {
		if strings.HasSuffix(network, "4") && !ip.Is4() || strings.HasSuffix(network, "6") && ip.Is4() {
			continue
		}
		to := netip.AddrPortFrom(ip, port)
		c, shown, err := p.open(ctx, protocol, to)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = &net.OpError{Op: "dial", Net: network, Addr: shown, Err: err}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if first == nil {
		return failed(&net.AddrError{Err: "no suitable address found", Addr: host})
	}
	return nil, first
}

// open connects to one address. It also returns the address for errors.
func (p *Process) open(ctx context.Context, protocol string, to netip.AddrPort) (net.Conn, net.Addr, error) {
	if protocol == "udp" {
		c, err := p.dialPacket(to)
		return c, net.UDPAddrFromAddrPort(to), err
	}
	c, err := p.connect(ctx, to)
	return c, tcpAddr(to), err
}

// connect connects to one address with TCP.
func (p *Process) connect(ctx context.Context, to netip.AddrPort) (*conn, error) {
	if p.isClosed() {
		return nil, net.ErrClosed
	}
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	r := p.network.route(p.stack, to)
	switch r.err {
	case nil:
	case syscall.EHOSTUNREACH:
		if err := p.wait(ctx, neighborTimeout); err != nil {
			return nil, err
		}
		fallthrough
	default:
		return nil, os.NewSyscallError("connect", r.err)
	}
	client, server := newConn(p, r.from, to, r.listener.process, r.local)
	if !p.remember(client) {
		return nil, net.ErrClosed
	}
	for wait, end := time.Second, time.Now().Add(connectTimeout); ; wait *= 2 {
		room, open := r.listener.connect(server)
		if room {
			return client, nil
		}
		err := os.NewSyscallError("connect", syscall.ECONNREFUSED)
		if open {
			// Linux drops the packet, and the client sends it again.
			if err = p.wait(ctx, min(wait, time.Until(end))); err == nil && !time.Now().Before(end) {
				err = os.NewSyscallError("connect", syscall.ETIMEDOUT)
			}
		}
		if err != nil {
			client.shut(true)
			p.forget(client)
			return nil, err
		}
	}
}

// wait waits for a duration. It returns an error if the context is done or the process ends before.
func (p *Process) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return interrupted(ctx)
	case <-p.done:
		return net.ErrClosed
	case <-timer.C:
		return nil
	}
}

// interrupted returns the error of package net for a context that is done.
func interrupted(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return os.ErrDeadlineExceeded
	}
	return canceledError{}
}

// canceledError is the error of package net for a context that is canceled.
type canceledError struct{}

func (canceledError) Error() string { return "operation was canceled" }

// Is implements the interface of errors.Is.
func (canceledError) Is(err error) bool { return err == context.Canceled }
