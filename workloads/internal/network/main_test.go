package network

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/fakecluster/fakecluster/internal/testing/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Check(m.Run())) }

// world is a network whose Services and EndpointSlices a test writes.
type world struct {
	*testing.T
	*Network
	informers informers.SharedInformerFactory
	pods      int
}

// newWorld returns a network with the nodes n1 and n2 and the Service kubernetes.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, informers: informers.NewSharedInformerFactory(nil, 0)}
	var err error
	if w.Network, err = New(Config{Informers: w.informers}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Network.Close)
	for i := 1; i <= 2; i++ {
		w.add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i)}, Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("172.18.0.%d", i)}},
		}})
	}
	for _, name := range []string{"default", "other"} {
		w.add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	w.service("kubernetes", func(s *corev1.Service) {
		s.Spec.ClusterIP = "10.0.0.1"
		s.Spec.Ports[0] = corev1.ServicePort{Name: "https", Port: 443}
	})
	return w
}

// add adds or replaces an object.
func (w *world) add(object any) {
	w.Helper()
	core, discovery := w.informers.Core().V1(), w.informers.Discovery().V1()
	var err error
	switch object.(type) {
	case *corev1.Node:
		err = core.Nodes().Informer().GetIndexer().Add(object)
	case *corev1.Namespace:
		err = core.Namespaces().Informer().GetIndexer().Add(object)
	case *corev1.Service:
		err = core.Services().Informer().GetIndexer().Add(object)
	case *discoveryv1.EndpointSlice:
		err = discovery.EndpointSlices().Informer().GetIndexer().Add(object)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// service adds a Service of the namespace default with the port 80, named http, and the cluster IP 10.0.0.7.
func (w *world) service(name string, change ...func(*corev1.Service)) {
	w.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.ServiceSpec{
		ClusterIP: "10.0.0.7", Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
	for _, f := range change {
		f(s)
	}
	w.add(s)
}

// endpoints sets the endpoints of a Service at the port 8080, named http.
func (w *world) endpoints(service string, endpoints ...discoveryv1.Endpoint) {
	w.Helper()
	w.add(&discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: service + "-x", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints,
		Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
	})
}

// endpointOf returns an endpoint that is ready, on node n1.
func endpointOf(h *Host) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{h.stack.ips[0].String()}, NodeName: &h.stack.node}
}

// pod adds a pod on n1, with the addresses 10.244.0.1 and so on.
func (w *world) pod(change ...func(*corev1.Pod)) *Host {
	w.pods++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p%d", w.pods)},
		Spec:       corev1.PodSpec{NodeName: "n1", DNSPolicy: corev1.DNSClusterFirst},
	}
	for _, f := range change {
		f(pod)
	}
	ip, names := fmt.Sprintf("10.244.0.%d", w.pods), clusterFirst(pod.Namespace)
	names.Hosts = ip + "\t" + pod.Name + "\n"
	return w.AddHost(pod, []string{ip}, "172.18.0."+pod.Spec.NodeName[1:], names)
}

// clusterFirst returns the names of a pod that uses the DNS of the cluster.
func clusterFirst(namespace string) Names {
	return Names{DNS: &runtimeapi.DNSConfig{
		Servers: []string{"10.0.0.10"}, Searches: []string{namespace + ".svc.cluster.local", "svc.cluster.local", "cluster.local"}, Options: []string{"ndots:5"},
	}}
}

// answer makes a process write a text to each connection at an address, with the address of the client behind it, and close it.
func (w *world) answer(p *Process, address, text string) {
	w.Helper()
	l, err := p.Listen("tcp", address)
	if err != nil {
		w.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			_, _ = c.Write([]byte(text + " for " + host))
			_ = c.Close()
		}
	}()
}

// dialer is a Process or a Network.
type dialer interface {
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}
