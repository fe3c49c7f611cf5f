package network

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// echo makes a process answer each packet at an address with a text, the packet and the address that it comes from.
func (w *world) echo(p *Process, address, text string) net.PacketConn {
	w.Helper()
	c, err := p.ListenPacket("udp", address)
	if err != nil {
		w.Fatal(err)
	}
	go func() {
		buffer := make([]byte, 1000)
		for {
			n, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			if _, err := c.WriteTo([]byte(text+" "+string(buffer[:n])+" for "+from.String()), from); err != nil && !errors.Is(err, net.ErrClosed) { // the test may have ended
				w.Error(err)
			}
		}
	}()
	return c
}

// ask sends a packet, and returns the answer or the error.
func ask(c net.Conn, text string) string {
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err.Error()
	}
	if _, err := c.Write([]byte(text)); err != nil {
		return err.Error()
	}
	buffer := make([]byte, 1000)
	n, err := c.Read(buffer)
	if err != nil {
		return err.Error()
	}
	return string(buffer[:n])
}

func (w *world) open(from dialer, address string) net.Conn {
	w.Helper()
	c, err := from.Dial(w.Context(), "udp", address)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (w *world) equal(got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("got %q, want %q", got, want)
	}
}

func works(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func TestPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		server, client := w.pod(), w.pod()
		w.answer(server.Process, ":53", "tcp") // a port of another protocol
		socket := w.echo(server.Process, ":53", "got")
		w.equal(socket.LocalAddr().String(), "[::]:53")
		if _, err := client.Dial(t.Context(), "udp", "none:53"); err == nil || err.Error() != "dial udp: lookup none on 10.0.0.10:53: no such host" {
			t.Errorf("the error is %v", err)
		}
		c := w.open(client, "10.244.0.1:53")
		w.equal(c.LocalAddr().String()+" "+c.RemoteAddr().String()+" "+c.RemoteAddr().Network(), "10.244.0.2:32768 10.244.0.1:53 udp")
		w.equal(ask(c, "a"), "got a for 10.244.0.2:32768")
		w.equal(ask(w.open(w.test, "10.244.0.1:53"), "b"), "got b for 198.51.100.1:32768")
		w.equal(ask(w.open(server, "localhost:53"), "c"), "got c for 127.0.0.1:32768")

		for _, text := range []string{"first", "", "third"} { // each packet by itself
			if _, err := c.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		buffer := make([]byte, 7)
		var got []string
		for range 3 {
			n, err := c.Read(buffer)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(buffer[:n]))
		}
		w.equal(strings.Join(got, "|"), "got fir|got  fo|got thi") // what does not fit is lost
	})
}

func TestErrorsOfPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod, other := w.pod(), w.pod()
		free, err := pod.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			network, address, want string
			wrapped                error
		}{
			{"udp", ":53", "listen udp :53: bind: address already in use", syscall.EADDRINUSE},
			{"udp4", "127.0.0.1:53", "listen udp4 127.0.0.1:53: bind: address already in use", syscall.EADDRINUSE},
			{"udp", "10.244.0.9:80", "listen udp 10.244.0.9:80: bind: cannot assign requested address", syscall.EADDRNOTAVAIL},
			{"tcp", ":80", "listen tcp: address :80: unexpected address type", nil},
			{"unixgram", "/a", "listen unixgram: the network of pods in fakecluster supports tcp and udp only", nil},
		} {
			_, err := pod.ListenPacket(test.network, test.address)
			fails(t, err, test.want, test.wrapped)
		}

		// Nobody listens: the next call says so, once.
		c := w.open(other, "10.244.0.1:54")
		const refused = "read udp 10.244.0.2:32768->10.244.0.1:54: read: connection refused"
		w.equal(ask(c, "a"), refused)
		w.equal(ask(c, "a"), refused)
		_, err = c.Write([]byte("a"))
		works(t, err)
		_, err = c.Write([]byte("a"))
		fails(t, err, "write udp 10.244.0.2:32768->10.244.0.1:54: write: connection refused", syscall.ECONNREFUSED)
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		_, err = c.Read(nil)
		fails(t, err, "read udp 10.244.0.2:32768->10.244.0.1:54: i/o timeout", os.ErrDeadlineExceeded)
		_, err = c.Write(make([]byte, 65508))
		fails(t, err, "write udp 10.244.0.2:32768->10.244.0.1:54: write: message too long", syscall.EMSGSIZE)
		_, err = c.(net.PacketConn).WriteTo(nil, c.RemoteAddr())
		fails(t, err, "write udp 10.244.0.2:32768->10.244.0.1:54: use of WriteTo with pre-connected connection", net.ErrWriteToConnected)

		// A socket without a peer does not hear of it.
		to := &net.UDPAddr{IP: net.IPv4(10, 244, 0, 2), Port: 54}
		_, err = free.WriteTo([]byte("a"), to)
		works(t, err)
		_ = free.SetReadDeadline(time.Now().Add(time.Second))
		_, _, err = free.ReadFrom(nil)
		fails(t, err, "read udp [::]:53: i/o timeout", os.ErrDeadlineExceeded)
		_, err = free.(net.Conn).Write(nil)
		fails(t, err, "write udp [::]:53: write: destination address required", syscall.EDESTADDRREQ)
		_, err = free.WriteTo(nil, &net.UDPAddr{IP: net.IPv4(203, 0, 113, 1), Port: 54})
		fails(t, err, "write udp [::]:53->203.0.113.1:54: sendto: network is unreachable", syscall.ENETUNREACH)
		_, err = other.Dial(t.Context(), "udp", "203.0.113.1:53")
		fails(t, err, "dial udp 203.0.113.1:53: connect: network is unreachable", syscall.ENETUNREACH)

		works(t, free.Close())
		fails(t, free.Close(), "close udp [::]:53: use of closed network connection", net.ErrClosed)
		_, err = free.WriteTo(nil, to)
		fails(t, err, "write udp [::]:53->10.244.0.2:54: use of closed network connection", net.ErrClosed)
		again, err := pod.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		pod.Close()
		_, _, err = again.ReadFrom(nil)
		fails(t, err, "read udp [::]:53: use of closed network connection", net.ErrClosed)
	})
}

// TestPacketsToAService proves that the packets of a socket go to one endpoint, and that the answers come from the Service.
func TestPacketsToAService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		client, a, b := w.pod(), w.pod(), w.pod()
		w.echo(a.Process, ":5353", "a")
		w.echo(b.Process, ":5353", "b")
		w.service("dns", func(s *corev1.Service) {
			s.Spec.Ports = []corev1.ServicePort{{Name: "udp", Port: 53, Protocol: corev1.ProtocolUDP, NodePort: 30053}, {Name: "tcp", Port: 53}}
		})
		endpoints := func(present ...discoveryv1.Endpoint) {
			w.add(&discoveryv1.EndpointSlice{
				ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "dns-x", Labels: map[string]string{discoveryv1.LabelServiceName: "dns"}},
				AddressType: discoveryv1.AddressTypeIPv4, Endpoints: present,
				Ports: []discoveryv1.EndpointPort{
					{Name: new("udp"), Port: new(int32(5353)), Protocol: new(corev1.ProtocolUDP)}, {Name: new("tcp"), Port: new(int32(5353)), Protocol: new(corev1.ProtocolTCP)},
				},
			})
		}
		endpoints(endpointOf(a), endpointOf(b))
		first, second := w.open(client, "dns:53"), w.open(client, "10.0.0.7:53")
		who := strings.Fields(ask(first, "x"))[0]
		other := map[string]string{"a": "b", "b": "a"}[who]
		for range 3 {
			w.equal(ask(first, "x"), who+" x for 10.244.0.1:32768")
			w.equal(ask(second, "x"), other+" x for 10.244.0.1:32769")
		}
		w.equal(first.RemoteAddr().String(), "10.0.0.7:53")

		// A socket without a peer sees where answers come from.
		socket, err := client.ListenPacket("udp", ":9999")
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []net.IP{net.IPv4(10, 0, 0, 7), net.IPv4(172, 18, 0, 1)} {
			port := map[bool]int{true: 53, false: 30053}[to[12] == 10]
			if _, err := socket.WriteTo([]byte("x"), &net.UDPAddr{IP: to, Port: port}); err != nil {
				t.Fatal(err)
			}
			_, from, err := socket.ReadFrom(make([]byte, 100))
			if err != nil || from.String() != (&net.UDPAddr{IP: to, Port: port}).String() {
				t.Errorf("the answer comes from %v, want %v: %v", from, to, err)
			}
		}

		// Sockets that are opened one after the other take turns.
		turns := ""
		for range 4 {
			socket := w.open(client, "dns:53")
			turns += strings.Fields(ask(socket, "x"))[0]
			_ = socket.Close()
		}
		if turns != "abab" && turns != "baba" {
			t.Errorf("%s have answered", turns)
		}

		// The other endpoint answers if one is gone, and nobody if both are.
		endpoints(map[string]discoveryv1.Endpoint{"a": endpointOf(b), "b": endpointOf(a)}[who])
		w.equal(ask(first, "x"), other+" x for 10.244.0.1:32768")
		endpoints()
		w.equal(ask(first, "x"), "read udp 10.244.0.1:32768->10.0.0.7:53: read: connection refused")
	})
}

// TestClientsOfANodePort proves that the server sees the Node, and each client gets the answers to its own packets.
func TestClientsOfANodePort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first, second, server := w.pod(), w.pod(), w.pod()
		w.echo(server.Process, ":5353", "got")
		w.service("dns", func(s *corev1.Service) {
			s.Spec.Ports[0] = corev1.ServicePort{Name: "http", Port: 53, Protocol: corev1.ProtocolUDP, NodePort: 30053}
		})
		w.add(&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "dns-x", Labels: map[string]string{discoveryv1.LabelServiceName: "dns"}},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{endpointOf(server)},
			Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(5353)), Protocol: new(corev1.ProtocolUDP)}},
		})
		a, b := w.open(first, "172.18.0.2:30053"), w.open(second, "172.18.0.2:30053")
		w.equal(ask(a, "a"), "got a for 172.18.0.2:32768")
		w.equal(ask(b, "b"), "got b for 172.18.0.2:32769")
		w.equal(ask(a, "c"), "got c for 172.18.0.2:32768")

		time.Sleep(2 * time.Minute) // the flow is forgotten, and its port is free
		w.equal(ask(b, "d"), "got d for 172.18.0.2:32768")
		if _, err := w.open(first, "172.18.0.2:30053").Write(nil); err != nil {
			t.Error(err)
		}
		if n := len(w.Network.flows); n != 2 {
			t.Errorf("there are %d flows, want those that are not over", n)
		}
		first.Close()
		second.Close()
		if n := len(w.Network.flows); n != 0 {
			t.Errorf("there are %d flows of sockets that are closed", n)
		}
	})
}

func TestPacketsAreDroppedThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		server, client := w.pod(), w.pod()
		socket, err := server.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		c := w.open(client, "10.244.0.1:53")
		for range 10 {
			if _, err := c.Write(make([]byte, 60000)); err != nil {
				t.Fatal(err)
			}
		}
		_ = socket.SetReadDeadline(time.Now().Add(time.Second))
		n := 0
		for ; ; n++ {
			if _, _, err := socket.ReadFrom(make([]byte, 100)); err != nil {
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
				break
			}
		}
		if n != 3 {
			t.Errorf("%d packets of 60000 bytes are there, want the 3 that fit into 212992", n)
		}
	})
}

// TestHostPorts proves that the address and the protocol of a host port count, also those of loopback, which each node has.
func TestHostPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod := func(node, ip string, protocol corev1.Protocol) *Process {
			return w.pod(func(p *corev1.Pod) {
				p.Spec.NodeName = node
				p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8000, HostIP: ip, Protocol: protocol}}}}
			}).Process
		}
		w.answer(pod("n1", "127.0.0.1", ""), ":80", "loopback of n1")
		w.answer(pod("n1", "172.18.0.1", corev1.ProtocolTCP), ":80", "address of n1")
		w.echo(pod("n1", "172.18.0.1", corev1.ProtocolUDP), ":80", "packet")
		w.answer(pod("n2", "", corev1.ProtocolTCP), ":80", "all of n2")
		onNode := func(name string) *Host {
			return w.pod(func(p *corev1.Pod) { p.Spec.HostNetwork, p.Spec.NodeName = true, name })
		}
		first, second, client := onNode("n1"), onNode("n2"), w.pod()
		w.reach(first, "127.0.0.1:8000", "loopback of n1 for 172.18.0.1")
		w.reach(first, "172.18.0.1:8000", "address of n1 for 172.18.0.1")
		w.reach(second, "127.0.0.1:8000", "all of n2 for 172.18.0.2")
		w.reach(client, "172.18.0.1:8000", "address of n1 for 10.244.0.7")
		w.reach(client, "172.18.0.2:8000", "all of n2 for 10.244.0.7")
		w.fail(client, "127.0.0.1:8000", "dial tcp 127.0.0.1:8000: connect: connection refused")
		w.equal(ask(w.open(client, "172.18.0.1:8000"), "x"), "packet x for 10.244.0.7:32770")
		w.equal(ask(w.open(client, "172.18.0.2:8000"), "x"), "read udp 10.244.0.7:32771->172.18.0.2:8000: read: connection refused")
	})
}
