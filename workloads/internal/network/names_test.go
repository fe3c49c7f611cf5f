package network

import (
	"fmt"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func TestNames(t *testing.T) {
	w := newWorld(t)
	w.service("web")
	w.service("db", func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone })
	w.endpoints("db",
		discoveryv1.Endpoint{Addresses: []string{"10.244.1.2"}, Hostname: new("db-1")},
		discoveryv1.Endpoint{Addresses: []string{"10.244.1.1"}, Hostname: new("db-0")},
		discoveryv1.Endpoint{Addresses: []string{"10.244.1.3"}},
		state(discoveryv1.Endpoint{Addresses: []string{"10.244.1.4"}, Hostname: new("db-3")}, false, false, false))
	w.service("alias", func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ClusterIP, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "", "web.default.svc.cluster.local."
	})
	w.service("loop", func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ClusterIP, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "", "loop.default.svc.cluster.local"
	})
	w.service("outside", func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ClusterIP, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "", "example.com"
	})
	near := w.pod(func(p *corev1.Pod) {
		p.Spec.Hostname, p.Spec.Subdomain = "me", "db"
		p.Spec.HostAliases = []corev1.HostAlias{{IP: "10.1.2.3", Hostnames: []string{"old-db", "Older-db"}}}
	})
	far := w.pod(func(p *corev1.Pod) { p.Namespace = "other" })
	onNode := w.pod(func(p *corev1.Pod) { p.Spec.HostNetwork = true })
	likeNode := w.pod(func(p *corev1.Pod) { p.Spec.HostNetwork, p.Spec.DNSPolicy = true, corev1.DNSClusterFirstWithHostNet })
	none := w.pod(func(p *corev1.Pod) {
		p.Spec.DNSPolicy, p.Spec.DNSConfig = corev1.DNSNone, &corev1.PodDNSConfig{Searches: []string{"default.svc.cluster.local"}}
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
		{near.Process, "web.", ""},
		{far.Process, "web", ""},
		{far.Process, "web.default", "10.0.0.7"},
		{w.test, "web", "10.0.0.7"},
		{near.Process, "db", "10.244.1.1 10.244.1.2 10.244.1.3"},
		{near.Process, "db-1.db", "10.244.1.2"},
		{far.Process, "db-0.db.default.svc.cluster.local", "10.244.1.1"},
		{near.Process, "10-244-1-3.db", "10.244.1.3"},
		{near.Process, "db-3.db", ""},
		{near.Process, "alias", "10.0.0.7"},
		{near.Process, "loop", ""},
		{near.Process, "outside", ""},
		{near.Process, "kubernetes.default.svc", "10.0.0.1"},
		{near.Process, "10-244-0-9.default.pod", "10.244.0.9"},
		{near.Process, "me", "10.244.0.1"},
		{near.Process, "me.db.default.svc.cluster.local", "10.244.0.1"},
		{near.Process, "older-db", "10.1.2.3"},
		{near.Process, "localhost", "127.0.0.1"},
		{near.Process, "10.9.8.7", "10.9.8.7"},
		{near.Process, "example.com", ""},
		{onNode.Process, "web.default.svc", ""},
		{likeNode.Process, "web", "10.0.0.7"},
		{none.Process, "web", "10.0.0.7"},
		{none.Process, "web.default", ""},
	} {
		got, err := test.from.LookupHost(t.Context(), test.name)
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s is %v, want %s; %v", test.name, got, test.want, err)
		}
		if test.want == "" {
			fails(t, err, "lookup "+test.name+" on 10.0.0.10:53: no such host", nil)
			if dns, ok := err.(*net.DNSError); !ok || !dns.IsNotFound {
				t.Errorf("%#v", err)
			}
		}
	}
	_, err := near.Dial(t.Context(), "tcp", "nothing:80")
	fails(t, err, "dial tcp: lookup nothing on 10.0.0.10:53: no such host", nil)

	for _, test := range []struct{ service, proto, name, want string }{
		{"http", "tcp", "web", "web.default.svc.cluster.local.:80"},
		{"http", "tcp", "db", "db-0.db.default.svc.cluster.local.:8080 db-1.db.default.svc.cluster.local.:8080 10-244-1-3.db.default.svc.cluster.local.:8080"},
		{"", "", "_http._tcp.web.default.svc", "web.default.svc.cluster.local.:80"},
		{"grpc", "tcp", "web", ""},
		{"http", "udp", "web", ""},
		{"http", "tcp", "outside", ""},
	} {
		query := test.name
		if test.service != "" {
			query = "_" + test.service + "._" + test.proto + "." + test.name
		}
		_, records, err := near.LookupSRV(t.Context(), test.service, test.proto, test.name)
		var got []string
		for _, r := range records {
			got = append(got, fmt.Sprintf("%s:%d", r.Target, r.Port))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s is %v, want %s; %v", query, got, test.want, err)
		}
		if test.want == "" {
			fails(t, err, "lookup "+query+" on 10.0.0.10:53: no such host", nil)
		}
	}
}
