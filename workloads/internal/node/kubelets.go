package node

import (
	"context"
	"net"
	"os"
	"syscall"

	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
)

// Kubelets returns the kubelet of each node, as its API shows it.
func (a *Agent) Kubelets() []kubelet.Node {
	nodes := make([]kubelet.Node, 0, len(a.nodes.Load().list))
	for _, n := range a.nodes.Load().list {
		nodes = append(nodes, n.pods.View)
	}
	return nodes
}

// DialKubelet connects to the API of a node's kubelet by dial. It returns ECONNREFUSED while the node's heartbeats are
// stopped.
func (a *Agent) DialKubelet(ctx context.Context, name string, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	if n := a.node(name); n != nil && !n.registration.beats() {
		return nil, &net.OpError{
			Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(internalIP(n.registration.spec)), Port: KubeletPort},
			Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
		}
	}
	return dial(ctx)
}

// KubeletPort is the port of the API of a kubelet.
const KubeletPort = 10250

// Reports reports whether a node of the agent reports the resource usage of its pods, which it does unless its
// heartbeats are stopped.
func (a *Agent) Reports(name string) bool {
	n := a.node(name)
	return n != nil && n.registration.beats()
}
