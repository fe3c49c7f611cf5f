package network

import (
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// addNames adds the Services web, db, which is headless, and alias, loop, outside and number, which are ExternalNames.
func (w *world) addNames() {
	w.service("web")
	w.service("db", func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone })
	w.endpoints("db",
		discoveryv1.Endpoint{Addresses: []string{"10.244.1.2"}, Hostname: new("db-1")},
		discoveryv1.Endpoint{Addresses: []string{"10.244.1.1"}, Hostname: new("db-0")},
		discoveryv1.Endpoint{Addresses: []string{"10.244.1.3"}},
		state(discoveryv1.Endpoint{Addresses: []string{"10.244.1.4"}, Hostname: new("db-3")}, false, false, false))
	for name, external := range map[string]string{
		"alias": "web.default.svc.cluster.local.", "loop": "loop.default.svc.cluster.local", "outside": "Example.com", "number": "10.1.1.1",
	} {
		w.service(name, func(s *corev1.Service) {
			s.Spec.Type, s.Spec.ClusterIP, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "", external
		})
	}
}

func TestNames(t *testing.T) {
	w := newWorld(t)
	w.addNames()
	names := func(change func(*Names)) *Host {
		names := clusterFirst("default")
		change(&names)
		return w.AddHost(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1"}}, []string{"10.244.2.1"}, "172.18.0.1", names)
	}
	near, far := names(func(n *Names) {
		n.Hosts = "# names\n127.0.0.1\tlocalhost\n10.244.0.1\tme.db.default.svc.cluster.local\tme\n\n10.1.2.3\told-db\tOlder-db # aliases\nx y\n"
	}), w.pod(func(p *corev1.Pod) { p.Namespace = "other" })
	elsewhere := names(func(n *Names) { n.DNS.Servers = []string{"127.0.0.1"} })
	none := names(func(n *Names) {
		n.DNS = &runtimeapi.DNSConfig{Servers: []string{"10.9.9.9", "10.0.0.10"}, Searches: []string{"svc.cluster.local.", "."}}
	})
	for _, test := range []struct {
		from       *Process
		name, want string
	}{
		{near.Process, "web", "10.0.0.7"},
		{near.Process, "WEB.default", "10.0.0.7"},
		{near.Process, "web.default.svc", "10.0.0.7"},
		{near.Process, "web.default.svc.cluster.local", "10.0.0.7"},
		{near.Process, "web.default.svc.cluster.local.", "10.0.0.7"},
		{near.Process, "_http._tcp.web", "10.0.0.7"},
		{near.Process, "web.", "not on 10.0.0.10"},
		{far.Process, "web", "not on 10.0.0.10"},
		{far.Process, "web.default", "10.0.0.7"},
		{w.test, "web", "10.0.0.7"},
		{near.Process, "db", "10.244.1.1 10.244.1.2 10.244.1.3"},
		{near.Process, "db-1.db", "10.244.1.2"},
		{far.Process, "db-0.db.default.svc.cluster.local", "10.244.1.1"},
		{near.Process, "10-244-1-3.db", "10.244.1.3"},
		{near.Process, "db-3.db", "not on 10.0.0.10"},
		{near.Process, "alias", "10.0.0.7"},
		{near.Process, "loop", "not on 10.0.0.10"},
		{near.Process, "outside", "not on 10.0.0.10"},
		{near.Process, "kubernetes.default.svc", "10.0.0.1"},
		{near.Process, "10-244-0-9.default.pod", "10.244.0.9"},
		{near.Process, "10-244-0-9.nowhere.pod", "not on 10.0.0.10"},
		{near.Process, "me", "10.244.0.1"},
		{near.Process, "me.db.default.svc.cluster.local", "10.244.0.1"},
		{near.Process, "older-db", "10.1.2.3"},
		{near.Process, "localhost", "127.0.0.1"},
		{near.Process, "10.9.8.7", "10.9.8.7"},
		{near.Process, "example.com", "not on 10.0.0.10"},
		{elsewhere.Process, "web.default.svc", "not on 127.0.0.1"},
		{none.Process, "web.default", "10.0.0.7"},
		{none.Process, "web", "not on 10.9.9.9"},
	} {
		found, err := test.from.names.addresses(test.name)
		var got []string
		for _, ip := range found {
			got = append(got, ip.String())
		}
		if server, missing := strings.CutPrefix(test.want, "not on "); missing {
			fails(t, err, "lookup "+test.name+" on "+server+":53: no such host", nil)
			if dns, ok := err.(*net.DNSError); !ok || !dns.IsNotFound || got != nil {
				t.Errorf("%s is %v; %#v", test.name, got, err)
			}
		} else if strings.Join(got, " ") != test.want || err != nil {
			t.Errorf("%s is %v, want %s; %v", test.name, got, test.want, err)
		}
	}
	_, err := near.Dial(t.Context(), "tcp", "nothing:80")
	fails(t, err, "dial tcp: lookup nothing on 10.0.0.10:53: no such host", nil)
}
