package network

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// three returns a client and three pods that answer with a, b and c at the port 8080. c is on n2.
func (w *world) three() (client, a, b, c *Host) {
	client, a, b = w.pod(), w.pod(), w.pod()
	c = w.pod(func(p *corev1.Pod) { p.Spec.NodeName = "n2" })
	for i, h := range []*Host{a, b, c} {
		w.answer(h.Process, ":8080", "abc"[i:i+1])
	}
	return client, a, b, c
}

// who returns who answers a number of connections, such as "aab".
func (w *world) who(from dialer, address string, n int) string {
	w.Helper()
	var answers strings.Builder
	for range n {
		c, err := from.Dial(w.Context(), "tcp", address)
		if err != nil {
			w.Error(err)
			return ""
		}
		answer, err := io.ReadAll(c)
		if err != nil || len(answer) == 0 {
			w.Error(err)
			return ""
		}
		_ = c.Close()
		answers.WriteByte(answer[0])
	}
	return answers.String()
}

func state(e discoveryv1.Endpoint, ready, serving, terminating bool) discoveryv1.Endpoint {
	e.Conditions = discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating}
	return e
}

func TestEndpointSlicesDecideWhoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		client, a, b, c := w.three()
		w.service("web")
		w.fail(client, "10.0.0.7:80", "dial tcp 10.0.0.7:80: connect: connection refused")
		w.fail(client, "web:80", "dial tcp 10.0.0.7:80: connect: connection refused")
		w.fail(client, "10.0.0.9:80", "dial tcp 10.0.0.9:80: connect: no route to host")

		w.endpoints("web", endpointOf(a), state(endpointOf(b), false, true, false), endpointOf(c))
		if got := w.who(client, "10.0.0.7:80", 4); got != "acac" && got != "caca" {
			t.Errorf("ready are a and c; %s answer", got)
		}
		w.fail(client, "10.0.0.7:81", "dial tcp 10.0.0.7:81: connect: connection refused")
		w.reach(client, "web.default.svc.cluster.local:80", w.who(client, "web:80", 2)[:1]+" for 10.244.0.1")

		w.endpoints("web", state(endpointOf(a), false, true, true), state(endpointOf(b), false, false, true))
		if got := w.who(client, "web:80", 2); got != "aa" {
			t.Errorf("a serves while it terminates; %s answer", got)
		}

		a.Close() // the endpoints are late
		w.fail(client, "web:80", "dial tcp 10.0.0.7:80: connect: no route to host")
	})
}

// Labels of a Service give it to another proxy than kube-proxy, or make it headless: then nobody answers at its address.
func TestServicesOfAnotherProxy(t *testing.T) {
	for _, label := range []string{"service.kubernetes.io/service-proxy-name", "service.kubernetes.io/headless"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			client, a, b, c := w.three()
			w.service("web", func(s *corev1.Service) { s.Labels = map[string]string{label: "other"} })
			w.endpoints("web", endpointOf(a), endpointOf(b), endpointOf(c))
			w.fail(client, "10.0.0.7:80", "dial tcp 10.0.0.7:80: connect: no route to host")
			w.fail(client, "web:80", "dial tcp 10.0.0.7:80: connect: no route to host")
		})
	}
}

func TestTheSeedDecidesWhoIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var firsts []string
		for seed := range uint64(20) {
			w := newWorld(t)
			w.Network.config.Seed = seed
			client, a, b, c := w.three()
			w.service("web")
			w.endpoints("web", endpointOf(a), endpointOf(b), endpointOf(c))
			answers := w.who(client, "web:80", 6)
			if answers[:3] != answers[3:] || strings.Count(answers, "a")*strings.Count(answers, "b") != 4 {
				t.Errorf("seed %d: %s answer", seed, answers)
			}
			firsts = append(firsts, answers[:1])
		}
		slices.Sort(firsts)
		if got := strings.Join(slices.Compact(firsts), ""); got != "abc" {
			t.Errorf("the first ones are %s", got)
		}
	})
}

func TestSessionAffinity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		client, a, b, c := w.three()
		w.service("web", func(s *corev1.Service) {
			s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
			s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(60))}}
		})
		w.endpoints("web", endpointOf(a), endpointOf(b), endpointOf(c))
		first := w.who(client, "web:80", 1)
		other := w.who(w.pod(), "web:80", 1)
		if first == other {
			t.Errorf("%s answers both clients", first)
		}
		for range 3 {
			time.Sleep(59 * time.Second)
			if got := w.who(client, "web:80", 1); got != first {
				t.Errorf("%s answers, want %s", got, first)
			}
		}
		time.Sleep(time.Minute)
		if got := w.who(client, "web:80", 1); got == first {
			t.Errorf("%s answers although the time is over", got)
		}
	})
}

func TestTrafficPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		client, a, b, c := w.three()
		w.service("web", func(s *corev1.Service) {
			s.Spec.Type, s.Spec.Ports[0].NodePort = corev1.ServiceTypeLoadBalancer, 30080
			s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
			s.Spec.ExternalIPs = []string{"203.0.113.5"}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.6"}}
		})
		w.endpoints("web", endpointOf(a), endpointOf(b), endpointOf(c))
		onN2 := w.pod(func(p *corev1.Pod) { p.Spec.NodeName = "n2" })
		for _, test := range []struct {
			from          dialer
			address, want string
		}{
			{client, "10.0.0.7:80", "ab"},
			{onN2, "10.0.0.7:80", "c"},
			{w, "172.18.0.1:30080", "ab"},
			{w, "172.18.0.2:30080", "c"},
			{client, "172.18.0.2:30080", "c"}, // of another node
			{onN2, "172.18.0.2:30080", "abc"},
			{w, "203.0.113.5:80", "abc"},
			{w, "203.0.113.6:80", "abc"},
		} {
			got := []byte(w.who(test.from, test.address, 6))
			slices.Sort(got)
			if got := string(slices.Compact(got)); got != test.want {
				t.Errorf("%s: %s answer, want %s", test.address, got, test.want)
			}
		}
		w.fail(w, "172.18.0.1:30081", "dial tcp 172.18.0.1:30081: connect: connection refused")
		w.reach(w, "172.18.0.2:30080", "c for 198.51.100.1") // the policy Local keeps the address of the client
		w.service("web", func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30080 })
		w.endpoints("web", endpointOf(c))
		w.reach(w, "172.18.0.1:30080", "c for 172.18.0.1")
	})
}

func TestTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod := w.pod()
		w.fail(pod, "kubernetes.default.svc:443", "dial tcp 10.0.0.1:443: connect: connection refused")
		l, err := w.ListenAPIServer()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte("API server"))
				_ = c.Close()
			}
		}()
		w.reach(pod, "kubernetes.default.svc:443", "API server")
		w.reach(pod, "kubernetes.default:https", "API server")
		w.reach(pod, "192.0.2.1:6443", "API server")
	})
}

// TestHints proves which endpoints a client gets by the hints of EndpointSlices, as with kube-proxy: for its Node, or else for its zone, if each ready endpoint has some.
func TestHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i, zone := range []string{"east", "west"} {
			name := fmt.Sprintf("n%d", i+1)
			w.add(&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}},
				Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.18.0." + name[1:]}}},
			})
		}
		client, a, b, c := w.three()
		onN2 := w.pod(func(p *corev1.Pod) { p.Spec.NodeName = "n2" })
		w.service("web", func(s *corev1.Service) { s.Spec.Type, s.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, 30080 })
		hint := func(h *Host, zone, node string) discoveryv1.Endpoint {
			e := endpointOf(h)
			e.Hints = &discoveryv1.EndpointHints{}
			if zone != "" {
				e.Hints.ForZones = []discoveryv1.ForZone{{Name: zone}}
			}
			if node != "" {
				e.Hints.ForNodes = []discoveryv1.ForNode{{Name: node}}
			}
			return e
		}
		for _, test := range []struct {
			name      string
			endpoints []discoveryv1.Endpoint
			n1, n2    string // who answers clients on these nodes
		}{
			{"of zones", []discoveryv1.Endpoint{hint(a, "east", ""), hint(b, "east", ""), hint(c, "west", "")}, "ab", "c"},
			{"of a zone without endpoints", []discoveryv1.Endpoint{hint(a, "east", ""), hint(b, "east", ""), hint(c, "east", "")}, "abc", "abc"},
			{"one has none", []discoveryv1.Endpoint{hint(a, "east", ""), endpointOf(b), hint(c, "west", "")}, "abc", "abc"},
			{"of nodes and zones", []discoveryv1.Endpoint{hint(a, "east", "n1"), hint(b, "east", "n3"), hint(c, "east", "n3")}, "a", "abc"},
		} {
			w.endpoints("web", test.endpoints...)
			for _, client := range []struct {
				from dialer
				want string
			}{{client, test.n1}, {onN2, test.n2}} {
				got := []byte(w.who(client.from, "10.0.0.7:80", 6))
				slices.Sort(got)
				if got := string(slices.Compact(got)); got != client.want {
					t.Errorf("%s: %s answer, want %s", test.name, got, client.want)
				}
			}
		}
		w.endpoints("web", hint(a, "east", ""), hint(c, "west", ""))
		if got := w.who(w, "172.18.0.2:30080", 2); got != "cc" {
			t.Errorf("at a node port %s answer, want those of the zone of its node", got)
		}
	})
}

// TestSlicesThatKubeProxyDoesNotSee has the labels that give an EndpointSlice to somebody else.
func TestSlicesThatKubeProxyDoesNotSee(t *testing.T) {
	w := newWorld(t)
	client, a, _, _ := w.three()
	w.service("web")
	for _, label := range []string{corev1.IsHeadlessService, proxyName} {
		w.endpoints("web", endpointOf(a))
		w.reach(client, "web:80", "a for 10.244.0.1")
		slice := w.slicesOf("default", "web")[0].DeepCopy()
		slice.Labels[label] = ""
		w.add(slice)
		w.fail(client, "10.0.0.7:80", "dial tcp 10.0.0.7:80: connect: connection refused")
	}
}
