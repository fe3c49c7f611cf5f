package workloads

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/go-logr/logr"

	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
)

// kubelets are the APIs of the kubelets of all nodes.
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

// connect has the API server reach the kubelets.
func (k *kubelets) connect() {
	k.w.attachment.ConnectKubelets(func(node string) func(context.Context) (net.Conn, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.dials[node]
	})
}

// serve serves the API of the kubelet of a node to the API server.
func (k *kubelets) serve(n kubelet.Node) {
	l, dial, hangUp, err := k.w.network.ListenKubelet()
	if err != nil {
		k.w.report(fmt.Errorf("the kubelet of node %s: %w", n.Name(), err))
		return
	}
	server := kubelet.NewServer(n, k.logger)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		hangUp()
		server.Close()
		return
	}
	k.closing = append(k.closing, hangUp, server.Close)
	k.dials[n.Name()] = func(ctx context.Context) (net.Conn, error) { return k.w.agent.DialKubelet(ctx, n.Name(), dial) }
	k.serving.Go(func() {
		if err := server.Serve(l); err != nil {
			k.w.report(fmt.Errorf("the kubelet of node %s: %w", n.Name(), err))
		}
	})
}

// end returns when none of them is served any more.
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
