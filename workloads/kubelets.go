package workloads

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/go-logr/logr"

	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
)

// serveKubelets serves the API of the kubelet of each node to the API server. end, which is never nil, waits until it has ended.
func (w *Workloads) serveKubelets(logger logr.Logger) (end func(), err error) {
	var serving sync.WaitGroup
	var closing []func()
	end = func() {
		for _, c := range closing {
			c()
		}
		serving.Wait()
	}
	dials := map[string]func(context.Context) (net.Conn, error){}
	for _, n := range w.agent.Kubelets() {
		l, dial, hangUp, err := w.network.ListenKubelet()
		if err != nil {
			return end, fmt.Errorf("the kubelet of node %s: %w", n.Name(), err)
		}
		server := kubelet.NewServer(n, logger)
		serving.Go(func() {
			if err := server.Serve(l); err != nil {
				w.report(fmt.Errorf("the kubelet of node %s: %w", n.Name(), err))
			}
		})
		closing = append(closing, hangUp, server.Close)
		dials[n.Name()] = func(ctx context.Context) (net.Conn, error) { return w.agent.DialKubelet(ctx, n.Name(), dial) }
	}
	w.attachment.ConnectKubelets(func(node string) func(context.Context) (net.Conn, error) { return dials[node] })
	return end, nil
}
