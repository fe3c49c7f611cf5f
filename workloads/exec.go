package workloads

import (
	"context"
	"net"
	"net/url"

	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/fakecluster/fakecluster/workloads/internal/container"
)

// NewSPDYExecutor is remotecommand.NewSPDYExecutor of client-go for exec and attach in a cluster
// without a socket, so it works in bubbles. config is one of the cluster, and the URL that of a
// request such as
//
//	client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("db-0").SubResource("exec").
//		VersionedParams(&corev1.PodExecOptions{Command: []string{"pg_isready"}, Stdout: true}, scheme.ParameterCodec).URL()
//
// Without [Nodes] its streams fail. If the cluster has a socket, the executors of client-go work as well.
func (w *Workloads) NewSPDYExecutor(config *clientrest.Config, method string, to *url.URL) (remotecommand.Executor, error) {
	return container.NewSPDYExecutor(w.Dial, config, method, to)
}

// PortForward connects to a TCP port of a Pod through the API server, as kubectl port-forward does, but
// without a local port, so it works in bubbles. It reaches ports on which the Pod listens on localhost, too.
// config is one of the cluster, whose user needs the permission to create pods/portforward; an empty namespace
// is default. PortForward fails if the Pod does not run. If nothing listens on the port, the first Read returns
// the error. ctx ends the attempt, and not the connection.
//
// The connection has the method CloseWrite. Close drops what the Pod has not read yet: call CloseWrite and read
// to the end first.
func (w *Workloads) PortForward(ctx context.Context, config *clientrest.Config, namespace, pod string, port int) (net.Conn, error) {
	return container.PortForward(ctx, w.Dial, config, namespace, pod, port)
}
