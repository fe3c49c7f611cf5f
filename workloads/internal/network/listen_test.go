package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestListenFailsAsASocketDoes(t *testing.T) {
	w := newWorld(t)
	p := w.pod()
	for _, address := range []string{":8443", "127.0.0.1:9090"} {
		if _, err := p.Listen("tcp", address); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		network, address, want string
		wrapped                error
	}{
		{"tcp", ":8443", "listen tcp :8443: bind: address already in use", syscall.EADDRINUSE},
		{"tcp", "0.0.0.0:8443", "listen tcp 0.0.0.0:8443: bind: address already in use", syscall.EADDRINUSE},
		{"tcp", "127.0.0.1:8443", "listen tcp 127.0.0.1:8443: bind: address already in use", syscall.EADDRINUSE},
		{"tcp", ":9090", "listen tcp :9090: bind: address already in use", syscall.EADDRINUSE},
		{"tcp", "10.244.0.9:80", "listen tcp 10.244.0.9:80: bind: cannot assign requested address", syscall.EADDRNOTAVAIL},
		{"tcp", "8443", "listen tcp: address 8443: missing port in address", nil},
		{"tcp", ":99999", "listen tcp: address 99999: invalid port", nil},
		{"tcp", "web:80", "listen tcp: lookup web on 10.0.0.10:53: no such host", nil},
		{"tpc", ":80", "listen tpc: unknown network tpc", nil},
		{"udp", ":53", "listen udp: address :53: unexpected address type", nil},
		{"unix", "/a", "listen unix: the network of pods in fakecluster supports tcp and udp only", nil},
	} {
		_, err := p.Listen(test.network, test.address)
		fails(t, err, test.want, test.wrapped)
		var op *net.OpError
		if !errors.As(err, &op) {
			t.Errorf("%T is not an *net.OpError", err)
		}
	}
}

func TestPortsOfAPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod, other := w.pod(), w.pod()
		first, second := pod.NewProcess(), pod.NewProcess()
		w.answer(first, "127.0.0.1:80", "local")
		w.answer(first, "10.244.0.1:81", "address")
		w.answer(second, ":82", "all")
		if _, err := second.ListenPacket("udp", ":53"); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(first.Listening()), "[{tcp 127.0.0.1:80} {tcp 10.244.0.1:81} {tcp [::]:82} {udp [::]:53}]"; got != want {
			t.Errorf("programs listen at %s, want %s", got, want)
		}
		w.reach(second, "localhost:80", "local for 127.0.0.1")
		w.reach(first, "10.244.0.1:81", "address for 10.244.0.1")
		w.reach(first, "127.0.0.1:82", "all for 127.0.0.1")
		w.reach(first, ":82", "all for 127.0.0.1")
		w.reach(first, "[::1]:82", "all for ::1")
		w.reach(first, "p1:82", "all for 10.244.0.1")
		w.reach(other, "10.244.0.1:82", "all for 10.244.0.2")
		w.reach(w, "10.244.0.1:82", "all for 198.51.100.1")
		w.fail(other, "10.244.0.1:80", "dial tcp 10.244.0.1:80: connect: connection refused")
		w.fail(first, "127.0.0.1:81", "dial tcp 127.0.0.1:81: connect: connection refused")

		first.Close()
		w.fail(second, "127.0.0.1:80", "dial tcp 127.0.0.1:80: connect: connection refused")
		w.fail(first, "127.0.0.1:82", "dial tcp 127.0.0.1:82: use of closed network connection")
		if _, err := first.Listen("tcp", ":80"); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		w.answer(pod.NewProcess(), "127.0.0.1:80", "restarted")
		w.reach(second, "localhost:80", "restarted for 127.0.0.1")

		l, err := second.Listen("tcp", ":0")
		if err != nil || l.Addr().(*net.TCPAddr).Port == 0 {
			t.Fatal(l, err)
		}
		_ = l.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now().Add(time.Minute))
		_, err = l.Accept()
		fails(t, err, "accept tcp "+l.Addr().String()+": i/o timeout", nil)

		pod.Close()
		_, err = l.Accept()
		fails(t, err, "accept tcp "+l.Addr().String()+": use of closed network connection", net.ErrClosed)
		began := time.Now()
		w.fail(other, "10.244.0.1:82", "dial tcp 10.244.0.1:82: connect: no route to host")
		if took := time.Since(began); took != neighborTimeout {
			t.Errorf("it took %v", took)
		}
		w.fail(other, "203.0.113.1:80", "dial tcp 203.0.113.1:80: connect: network is unreachable")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = other.Dial(ctx, "tcp", "10.244.0.1:82")
		fails(t, err, "dial tcp 10.244.0.1:82: i/o timeout", nil)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = other.Dial(canceled, "tcp", "10.244.0.1:82")
		fails(t, err, "dial tcp 10.244.0.1:82: operation was canceled", context.Canceled)
	})
}

func TestPodsOfTheNetworkOfTheirNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		client := w.pod()
		onNode := func(p *corev1.Pod) { p.Spec.HostNetwork = true }
		first, second := w.pod(onNode), w.pod(onNode)
		w.answer(first.Process, ":9100", "first")
		_, err := second.Listen("tcp", ":9100")
		fails(t, err, "listen tcp :9100: bind: address already in use", syscall.EADDRINUSE)
		w.reach(client, "172.18.0.1:9100", "first for 10.244.0.1")
		w.reach(second, "localhost:9100", "first for 127.0.0.1")
		w.fail(client, "172.18.0.2:9100", "dial tcp 172.18.0.2:9100: connect: connection refused")
		first.Close()
		w.answer(second.Process, ":9100", "second")
		w.reach(client, "172.18.0.1:9100", "second for 10.244.0.1")

		w.answer(w.pod(func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8000}}}}
		}).Process, ":80", "host port")
		w.reach(client, "172.18.0.1:8000", "host port for 10.244.0.1")
	})
}

// TestAFullBacklogDropsConnections proves that Dial waits as Linux does.
func TestAFullBacklogDropsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod := w.pod()
		l, err := pod.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		for range backlog {
			if _, err := w.Dial(t.Context(), "tcp", "10.244.0.1:80"); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		w.fail(w, "10.244.0.1:80", "dial tcp 10.244.0.1:80: connect: connection timed out")
		if took := time.Since(began); took != connectTimeout {
			t.Errorf("it took %v", took)
		}
		time.AfterFunc(2*time.Second, func() { _, _ = l.Accept() })
		if _, err := w.Dial(t.Context(), "tcp", "10.244.0.1:80"); err != nil {
			t.Error(err)
		}
	})
}

// reach checks who answers at an address.
func (w *world) reach(from dialer, address, want string) {
	w.Helper()
	c, err := from.Dial(w.Context(), "tcp", address)
	if err != nil {
		w.Error(err)
		return
	}
	defer c.Close()
	if got, err := io.ReadAll(c); string(got) != want || err != nil {
		w.Errorf("%s answers %q, want %q; %v", address, got, want, err)
	}
}

// fail checks the error of Dial.
func (w *world) fail(from dialer, address, want string) {
	w.Helper()
	_, err := from.Dial(w.Context(), "tcp", address)
	fails(w.T, err, want, nil)
}

// A connection that nobody accepts ends with a sentence after an hour, so that a test in a bubble does not wait for ever. One that is accepted goes on.
func TestAConnectionThatIsNotAcceptedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p := w.pod()
		listener, err := p.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var conns []net.Conn
		for range 2 {
			conn, err := p.Dial(t.Context(), "tcp", "127.0.0.1:80")
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
		}
		accepted, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, err = conns[1].Read(make([]byte, 1))
		want := "read tcp " + conns[1].LocalAddr().String() + "->127.0.0.1:80: the connection was not accepted for 1h0m0s: the program that listens there must call Accept, or http.Serve"
		fails(t, err, want, syscall.ETIMEDOUT)
		if got := time.Since(began); got != time.Hour {
			t.Errorf("it ends after %v", got)
		}
		_, err = conns[1].Write([]byte("a"))
		fails(t, err, strings.Replace(want, "read", "write", 1), syscall.ETIMEDOUT)
		if _, err := accepted.Write([]byte("a")); err != nil {
			t.Error(err)
		}
		if n, err := conns[0].Read(make([]byte, 1)); n != 1 || err != nil {
			t.Error(n, err)
		}
	})
}
