package workloads

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/workloads/internal/controlplane"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
)

// kubelets serves the kubelet APIs of all nodes.
type kubelets struct {
	w       *Workloads
	logger  logr.Logger
	serving sync.WaitGroup

	mu      sync.Mutex
	ended   bool
	closing []func()
	dials   map[string]func(context.Context) (net.Conn, error)
}

func newKubelets(w *Workloads, logger logr.Logger) *kubelets {
	return &kubelets{w: w, logger: logger, dials: map[string]func(context.Context) (net.Conn, error){}}
}

// connect makes the API server reach the kubelets.
func (k *kubelets) connect() {
	k.w.attachment.ConnectKubelets(func(node string) func(context.Context) (net.Conn, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.dials[node]
	})
}

// serve serves the kubelet API of a node: to the API server in memory, and to all others at port 10250 of the
// node.
func (k *kubelets) serve(n kubelet.Node) {
	l, dial, hangUp, err := k.w.network.ListenKubelet()
	if err != nil {
		k.w.report(fmt.Errorf("the kubelet of node %s: %w", n.Name(), err))
		return
	}
	server := kubelet.NewServer(n, k.logger)
	ends := []func(){hangUp}
	secure, hangUpSecure, err := k.listen(n)
	if err != nil {
		k.w.report(fmt.Errorf("the port of the kubelet of node %s: %w", n.Name(), err))
	} else {
		ends = append(ends, hangUpSecure)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	ends = append(ends, server.Close)
	if k.ended {
		for _, end := range ends {
			end()
		}
		return
	}
	k.closing = append(k.closing, ends...)
	k.dials[n.Name()] = func(ctx context.Context) (net.Conn, error) { return k.w.agent.DialKubelet(ctx, n.Name(), dial) }
	if secure != nil {
		k.serving.Go(func() {
			if err := server.ServeSecure(secure, certificates(n.Name()), k.reviewer(n.Name())); err != nil {
				k.w.report(fmt.Errorf("the port of the kubelet of node %s: %w", n.Name(), err))
			}
		})
	}
	k.serving.Go(func() {
		if err := server.Serve(l); err != nil {
			k.w.report(fmt.Errorf("the kubelet of node %s: %w", n.Name(), err))
		}
	})
}

// listen listens at port 10250 of a node.
func (k *kubelets) listen(n kubelet.Node) (l net.Listener, hangUp func(), err error) {
	ip := netip.Addr{}
	for _, a := range n.Spec().Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			ip, _ = netip.ParseAddr(a.Address)
		}
	}
	l, hangUp, err = k.w.network.ListenNode(n.Name(), ip, node.KubeletPort)
	if err != nil {
		return nil, nil, err
	}
	return kubeletListener{Listener: l, k: k, node: n.Name()}, hangUp, nil
}

// kubeletListener is the listener of a kubelet that closes connections at once while the heartbeats of its node are stopped.
type kubeletListener struct {
	net.Listener
	k    *kubelets
	node string
}

// Accept implements net.Listener.
func (l kubeletListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if _, err := l.k.w.agent.DialKubelet(context.Background(), l.node, func(context.Context) (net.Conn, error) { return nil, nil }); err == nil {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// certificates returns the TLS configuration of a kubelet. Its certificate, of an authority of its own, is
// made with the first connection.
func certificates(node string) *tls.Config {
	certificate := sync.OnceValues(func() (*tls.Certificate, error) {
		authority, err := authentication.NewAuthority(node + "-ca")
		if err != nil {
			return nil, err
		}
		certificate, err := authority.ServerCertificate(node)
		return &certificate, err
	})
	return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate() }}
}

// reviewer returns the client with which a kubelet creates TokenReviews and SubjectAccessReviews.
func (k *kubelets) reviewer(node string) func() (kubernetes.Interface, error) {
	return sync.OnceValues(func() (kubernetes.Interface, error) {
		user := "system:node:" + node
		return controlplane.NewClient(k.w.attachment.ConfigFor(user, "system:nodes"), "kubelet", user)
	})
}

// end stops serving all kubelets, and waits until they have stopped.
func (k *kubelets) end() {
	k.mu.Lock()
	k.ended = true
	closing := k.closing
	k.mu.Unlock()
	for _, c := range closing {
		c()
	}
	k.serving.Wait()
}
