package workloads

import (
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
