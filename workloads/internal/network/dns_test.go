package network

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// The answers are those of CoreDNS with the Corefile of kubeadm, except for the order of records.
func TestDNSAnswersAsCoreDNS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.addNames()
		w.service("two", func(s *corev1.Service) {
			s.Spec.ClusterIPs = []string{"10.0.0.8", "fd00::8"}
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP})
		})
		client := w.pod(func(p *corev1.Pod) { p.Namespace = "other" })
		const soa = " | cluster.local. SOA ns.dns.cluster.local. hostmaster.cluster.local. 946684800 7200 1800 86400 30"
		for _, test := range []struct {
			name  string
			kinds string
			want  string
		}{
			{"web.default.svc.cluster.local.", "A", "NOERROR aa | A 10.0.0.7"},
			{"Web.Default.svc.cluster.local.", "A", "NOERROR aa | A 10.0.0.7"},
			{"web.default.svc.cluster.local.", "AAAA", "NOERROR aa" + soa},
			{"web.default.svc.cluster.local.", "MX", "NOERROR aa" + soa},
			{"web.default.svc.cluster.local.", "TXT", "NOERROR aa" + soa},
			{"web.default.svc.cluster.local.", "CNAME", "NOERROR aa" + soa},
			{"web.default.svc.cluster.local.", "AXFR", "REFUSED"},
			{"two.default.svc.cluster.local.", "AAAA", "NOERROR aa | AAAA fd00::8"},
			{"nothing.default.svc.cluster.local.", "A", "NXDOMAIN aa" + soa},
			{"web.nowhere.svc.cluster.local.", "A", "NXDOMAIN aa" + soa},
			{"default.svc.cluster.local.", "A", "NOERROR aa" + soa},
			{"nowhere.svc.cluster.local.", "A", "NXDOMAIN aa" + soa},
			{"svc.cluster.local.", "A", "NOERROR aa" + soa},
			{"services.cluster.local.", "A", "NXDOMAIN aa" + soa},
			{"a.b.c.web.default.svc.cluster.local.", "A", "NXDOMAIN aa" + soa},
			{"cluster.local.", "SOA", "NOERROR aa | SOA ns.dns.cluster.local. hostmaster.cluster.local. 946684800 7200 1800 86400 30"},
			{"cluster.local.", "NS", "NOERROR aa | NS ns.dns.cluster.local. | ns.dns.cluster.local. A 10.0.0.10"},
			{"dns-version.cluster.local.", "TXT", "NOERROR aa | TXT 1.1.0"},
			{"db.default.svc.cluster.local.", "A", "NOERROR aa | A 10.244.1.1 | A 10.244.1.2 | A 10.244.1.3"},
			{"db-1.db.default.svc.cluster.local.", "A", "NOERROR aa | A 10.244.1.2"},
			{"db-3.db.default.svc.cluster.local.", "A", "NXDOMAIN aa" + soa},
			{"10-244-0-9.default.pod.cluster.local.", "A", "NOERROR aa | A 10.244.0.9"},
			{"fd00--1.default.pod.cluster.local.", "AAAA", "NOERROR aa | AAAA fd00::1"},
			{"web.default.pod.cluster.local.", "A", "NXDOMAIN aa" + soa},
			{"alias.default.svc.cluster.local.", "A", "NOERROR aa | CNAME web.default.svc.cluster.local. | web.default.svc.cluster.local. A 10.0.0.7"},
			{"alias.default.svc.cluster.local.", "CNAME", "NOERROR aa | CNAME web.default.svc.cluster.local."},
			{"alias.default.svc.cluster.local.", "SRV", "NOERROR aa" + soa},
			{"outside.default.svc.cluster.local.", "A", "NOERROR aa | CNAME example.com."},
			{"loop.default.svc.cluster.local.", "A", "NOERROR aa" + soa},
			{"number.default.svc.cluster.local.", "A", "NXDOMAIN aa" + soa},
			{"_http._tcp.web.default.svc.cluster.local.", "SRV",
				"NOERROR aa | SRV 0 100 80 web.default.svc.cluster.local. | web.default.svc.cluster.local. A 10.0.0.7"},
			{"_grpc._tcp.web.default.svc.cluster.local.", "SRV", "NXDOMAIN aa" + soa},
			{"_http._udp.web.default.svc.cluster.local.", "SRV", "NXDOMAIN aa" + soa},
			{"_dns._udp.two.default.svc.cluster.local.", "SRV", "NOERROR aa | SRV 0 50 53 two.default.svc.cluster.local." +
				" | two.default.svc.cluster.local. A 10.0.0.8 | two.default.svc.cluster.local. AAAA fd00::8"},
			{"_http._tcp.db.default.svc.cluster.local.", "SRV", "NOERROR aa | SRV 0 33 8080 db-0.db.default.svc.cluster.local." +
				" | SRV 0 33 8080 db-1.db.default.svc.cluster.local. | SRV 0 33 8080 10-244-1-3.db.default.svc.cluster.local." +
				" | db-0.db.default.svc.cluster.local. A 10.244.1.1 | db-1.db.default.svc.cluster.local. A 10.244.1.2" +
				" | 10-244-1-3.db.default.svc.cluster.local. A 10.244.1.3"},
			{"7.0.0.10.in-addr.arpa.", "PTR", "NOERROR aa | PTR web.default.svc.cluster.local."},
			{"2.1.244.10.in-addr.arpa.", "PTR", "NOERROR aa | PTR db-1.db.default.svc.cluster.local."},
			{"3.1.244.10.in-addr.arpa.", "PTR", "NOERROR aa | PTR 10-244-1-3.db.default.svc.cluster.local."},
			{"4.1.244.10.in-addr.arpa.", "PTR", "NXDOMAIN ra"},
			{"8.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa.", "PTR", "NOERROR aa | PTR two.default.svc.cluster.local."},
			{"7.0.0.10.in-addr.arpa.", "A", "NXDOMAIN ra"},
			{"example.com.", "A", "NXDOMAIN ra"},
		} {
			for _, network := range []string{"udp", "tcp"} {
				if got := describe(askDNS(t, client.Process, network, query(test.name, test.kinds))); got != test.want {
					t.Errorf("%s %s over %s:\n got %s\nwant %s", test.name, test.kinds, network, got, test.want)
				}
			}
		}
	})
}

// kinds are types of records by their names.
var kinds = map[string]dnsmessage.Type{
	"A": dnsmessage.TypeA, "AAAA": dnsmessage.TypeAAAA, "AXFR": dnsmessage.TypeAXFR, "CNAME": dnsmessage.TypeCNAME, "MX": dnsmessage.TypeMX, "NS": dnsmessage.TypeNS,
	"PTR": dnsmessage.TypePTR, "SOA": dnsmessage.TypeSOA, "SRV": dnsmessage.TypeSRV, "TXT": dnsmessage.TypeTXT,
}

func query(name, kind string) dnsmessage.Message {
	return dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}, Questions: []dnsmessage.Question{{
		Name: dnsmessage.MustNewName(name), Type: kinds[kind], Class: dnsmessage.ClassINET,
	}}}
}

// askDNS sends a message to the DNS, and returns the answer.
func askDNS(t *testing.T, from dialer, network string, m dnsmessage.Message) dnsmessage.Message {
	t.Helper()
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	var answer dnsmessage.Message
	if err := answer.Unpack(exchange(t, from, network, packed)); err != nil {
		t.Fatal(err)
	}
	return answer
}

// exchange sends bytes to the DNS, and returns what comes back within a second: nil if nothing does.
func exchange(t *testing.T, from dialer, network string, message []byte) []byte {
	t.Helper()
	c, err := from.Dial(t.Context(), network, "10.0.0.10:53")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if network == "tcp" {
		message = append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)
	}
	if _, err := c.Write(message); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1<<16)
	if network == "tcp" {
		if _, err := io.ReadFull(c, answer[:2]); err != nil {
			return nil
		}
		answer = answer[:binary.BigEndian.Uint16(answer)]
		if _, err := io.ReadFull(c, answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	n, err := c.Read(answer)
	if err != nil {
		return nil
	}
	return answer[:n]
}

// describe returns the code, the flags and the records of an answer. The owner of records is left out where it is the name that was asked for.
func describe(m dnsmessage.Message) string {
	codes := map[dnsmessage.RCode]string{0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED"}
	out := codes[m.RCode]
	for _, f := range []struct {
		name string
		set  bool
	}{{" aa", m.Authoritative}, {" ra", m.RecursionAvailable}, {" tc", m.Truncated}, {" without qr", !m.Response}, {" with another ID", m.ID != 7}} {
		if f.set {
			out += f.name
		}
	}
	for _, r := range append(append(m.Answers, m.Authorities...), m.Additionals...) {
		out += " | "
		if len(m.Questions) == 0 || r.Header.Name != m.Questions[0].Name {
			out += r.Header.Name.String() + " "
		}
		out += strings.TrimPrefix(r.Header.Type.String(), "Type") + " "
		switch b := r.Body.(type) {
		case *dnsmessage.AResource:
			out += netip.AddrFrom4(b.A).String()
		case *dnsmessage.AAAAResource:
			out += netip.AddrFrom16(b.AAAA).String()
		case *dnsmessage.CNAMEResource:
			out += b.CNAME.String()
		case *dnsmessage.PTRResource:
			out += b.PTR.String()
		case *dnsmessage.NSResource:
			out += b.NS.String()
		case *dnsmessage.TXTResource:
			out += strings.Join(b.TXT, "")
		case *dnsmessage.SRVResource:
			out += fmt.Sprint(b.Priority, b.Weight, b.Port, " ", b.Target)
		case *dnsmessage.SOAResource:
			out += fmt.Sprint(b.NS, " ", b.MBox, " ", b.Serial, b.Refresh, b.Retry, b.Expire, b.MinTTL)
		case *dnsmessage.OPTResource:
			out += fmt.Sprint(uint16(r.Header.Class))
		}
		if r.Header.Type != dnsmessage.TypeOPT && (r.Header.TTL != 30 || r.Header.Class != dnsmessage.ClassINET) {
			out += fmt.Sprint(" with ", r.Header.TTL, r.Header.Class)
		}
	}
	return out
}

// What does not fit is left out, as the size that the client allows says.
func TestDNSTruncates(t *testing.T) {
	w := newWorld(t)
	w.service("db", func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone })
	var endpoints []discoveryv1.Endpoint
	for i := range 60 {
		endpoints = append(endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.244.1.%d", i+1)}})
	}
	w.endpoints("db", endpoints...)
	for _, test := range []struct {
		network   string
		edns      int
		answers   int
		truncated bool
	}{{"udp", 0, 29, true}, {"udp", 1232, 60, false}, {"udp", 600, 33, true}, {"udp", 100, 28, true}, {"tcp", 0, 60, false}, {"tcp", 600, 60, false}} {
		m := query("db.default.svc.cluster.local.", "A")
		if test.edns > 0 {
			var header dnsmessage.ResourceHeader
			if err := header.SetEDNS0(test.edns, 0, false); err != nil {
				t.Fatal(err)
			}
			m.Additionals = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.OPTResource{}}}
		}
		got := askDNS(t, w, test.network, m)
		if len(got.Answers) != test.answers || got.Truncated != test.truncated || len(got.Additionals) != len(m.Additionals) {
			t.Errorf("%+v: %d answers, %d additional records, truncated: %v", test, len(got.Answers), len(got.Additionals), got.Truncated)
		}
	}
}

func TestDNSRejectsWhatIsNoQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.service("long", func(s *corev1.Service) {
			s.Spec.Type, s.Spec.ClusterIP, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "", strings.Repeat("a", 64)+".example.com"
		})
		w.service("web")
		for _, test := range []struct {
			name   string
			change func(*dnsmessage.Message)
			want   string
		}{
			{"an update", func(m *dnsmessage.Message) { m.OpCode = 5 }, "NOTIMP"},
			{"no question", func(m *dnsmessage.Message) { m.Questions = nil }, "FORMERR"},
			{"two questions", func(m *dnsmessage.Message) { m.Questions = append(m.Questions, m.Questions...) }, "FORMERR"},
			{"another class", func(m *dnsmessage.Message) { m.Questions[0].Class = dnsmessage.ClassCHAOS }, "REFUSED"},
			{"an alias that no message can have", func(m *dnsmessage.Message) {
				m.Questions[0].Name = dnsmessage.MustNewName("long.default.svc.cluster.local.")
			}, "SERVFAIL aa"},
		} {
			m := query("web.default.svc.cluster.local.", "A")
			test.change(&m)
			for _, network := range []string{"udp", "tcp"} {
				if got := describe(askDNS(t, w, network, m)); got != test.want {
					t.Errorf("%s over %s: %s, want %s", test.name, network, got, test.want)
				}
			}
		}
		m := query("web.default.svc.cluster.local.", "A")
		m.Response = true
		answer, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		for name, message := range map[string][]byte{"an answer": answer, "nothing": {}, "half a header": answer[:6]} {
			for _, network := range []string{"udp", "tcp"} {
				if got := exchange(t, w, network, message); got != nil {
					t.Errorf("%s over %s is answered by %x", name, network, got)
				}
			}
		}
	})
}

// A connection to the DNS has several questions, and ends when none comes for ten seconds.
func TestDNSConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, err := w.Dial(t.Context(), "tcp", "10.0.0.10:53")
		if err != nil {
			t.Fatal(err)
		}
		m := query("kubernetes.default.svc.cluster.local.", "A")
		packed, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 2 {
			time.Sleep(9 * time.Second)
			if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, make([]byte, 2+len(packed))); err != nil {
				t.Fatal(err)
			}
		}
		if rest, err := io.ReadAll(c); err != nil || time.Since(began) != 28*time.Second {
			t.Errorf("the connection ends with %d bytes and %v after %v", len(rest), err, time.Since(began))
		}
		_, err = w.Dial(t.Context(), "tcp", "10.0.0.10:54")
		fails(t, err, "dial tcp 10.0.0.10:54: connect: connection refused", nil)
	})
}

// A Service with the address of the DNS takes its place.
func TestAServiceTakesThePlaceOfTheDNS(t *testing.T) {
	w := newWorld(t)
	w.service("kube-dns", func(s *corev1.Service) {
		s.Spec.ClusterIP, s.Spec.Ports = "10.0.0.10", []corev1.ServicePort{{Name: "http", Port: 53}}
	})
	own := w.pod()
	w.answer(own.Process, ":8080", "own")
	w.endpoints("kube-dns", endpointOf(own))
	c, err := w.Dial(t.Context(), "tcp", "10.0.0.10:53")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(got), "own for ") {
		t.Errorf("%q, %v", got, err)
	}
}

// Another client of the DNS is Go's own resolver.
func TestDNSServesGosResolver(t *testing.T) {
	w := newWorld(t)
	w.addNames()
	for _, network := range []string{"udp", "tcp"} {
		resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return w.Dial(ctx, network, "10.0.0.10:53")
		}}
		hosts, err := resolver.LookupHost(t.Context(), "db.default.svc.cluster.local.")
		if got := fmt.Sprint(hosts, err); got != "[10.244.1.1 10.244.1.2 10.244.1.3] <nil>" {
			t.Errorf("over %s the addresses are %s", network, got)
		}
		names, err := resolver.LookupAddr(t.Context(), "10.0.0.7")
		if got := fmt.Sprint(names, err); got != "[web.default.svc.cluster.local.] <nil>" {
			t.Errorf("over %s the names are %s", network, got)
		}
		alias, err := resolver.LookupCNAME(t.Context(), "alias.default.svc.cluster.local.")
		if alias != "web.default.svc.cluster.local." || err != nil {
			t.Errorf("over %s the canonical name is %s, %v", network, alias, err)
		}
		_, services, err := resolver.LookupSRV(t.Context(), "http", "tcp", "web.default.svc.cluster.local.")
		if err != nil || len(services) != 1 || *services[0] != (net.SRV{Target: "web.default.svc.cluster.local.", Port: 80, Weight: 100}) {
			t.Errorf("over %s the services are %v, %v", network, services, err)
		}
		_, err = resolver.LookupHost(t.Context(), "nothing.default.svc.cluster.local.")
		if dns := (*net.DNSError)(nil); !errors.As(err, &dns) || !dns.IsNotFound {
			t.Errorf("over %s the error about a name that does not exist is %v", network, err)
		}
	}
}
