package workloads

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/workloads/internal/network"
)

// HTTPClient returns a client of the test that reaches Pods, Services and Nodes, by their IPs and by names
// such as web.default.svc.cluster.local, web.default, or web in the namespace default. Each call returns a
// new client with an *http.Transport of its own, so keep the client; set its TLSClientConfig before the first
// request. Its connections are closed when the workloads end. Without Nodes, all requests fail.
func (w *Workloads) HTTPClient() *http.Client {
	if w.network == nil {
		return &http.Client{Transport: &http.Transport{DialContext: w.Dial}}
	}
	return w.network.HTTPClient()
}

// Dial connects the test to a port of the cluster, with the addresses of [Workloads.HTTPClient]: "web:80", "10.244.0.5:8080". The
// network is tcp, tcp4, tcp6, udp, udp4 or udp6. The errors are those of [net.Dialer.DialContext], such as "connection refused".
func (w *Workloads) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if w.network == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("there are no Nodes; add workloads.Nodes(1)")}
	}
	return w.network.Dial(ctx, network, address)
}

// podNetwork runs the network of the Pods, and serves the API server in it. It implements world.Part.
type podNetwork struct {
	w         *Workloads
	informers informers.SharedInformerFactory
	stop      func() // nil: the cluster is not served
}

// Start implements world.Part.
func (p *podNetwork) Start(ctx context.Context) (err error) {
	w := p.w
	if w.dns, err = w.dnsAddress(ctx); err != nil {
		return fmt.Errorf("the address of the DNS: %w", err)
	}
	if w.network, err = network.New(network.Config{Informers: p.informers, DNS: w.dns, Seed: w.attachment.Seed()}); err != nil {
		return fmt.Errorf("the network of the pods: %w", err)
	}
	l, err := w.network.ListenAPIServer()
	if err != nil {
		return fmt.Errorf("the network of the pods: %w", err)
	}
	if p.stop, err = w.attachment.ServeTLS(l); err != nil {
		return fmt.Errorf("serving the cluster to its pods: %w", err)
	}
	return w.attachment.Connect(w.network.Dial)
}

// Wait implements world.Part.
func (p *podNetwork) Wait() {
	if p.w.network != nil {
		p.w.network.Close()
	}
	if p.stop != nil {
		p.stop()
	}
}

// dnsAddress returns the address of the cluster's DNS: the tenth one of the range of Services, as kubeadm chooses it. The first one is that of the
// Service kubernetes.
func (w *Workloads) dnsAddress(ctx context.Context) (netip.Addr, error) {
	admin, err := kubernetes.NewForConfig(w.attachment.ConfigFor("system:workloads", "system:masters"))
	if err != nil {
		return netip.Addr{}, err
	}
	service, err := admin.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
	if err != nil {
		return netip.Addr{}, err
	}
	ip, err := netip.ParseAddr(service.Spec.ClusterIP)
	if err != nil {
		return netip.Addr{}, err
	}
	for range 9 {
		ip = ip.Next()
	}
	return ip, nil
}
