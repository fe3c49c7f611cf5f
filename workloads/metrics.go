package workloads

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/fakecluster/fakecluster/workloads/internal/metrics"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
)

// serveMetrics serves metrics.k8s.io. It does so even if an APIService names Pods for it, as metrics-server's
// does, if these Pods run no program. Any other APIService for the group takes precedence. The nodes must
// exist.
func (w *Workloads) serveMetrics(shared informers.SharedInformerFactory) error {
	core := shared.Core().V1()
	return w.attachment.StandIn(v1beta1.SchemeGroupVersion, &metrics.Handler{
		Pods: core.Pods().Lister(), Nodes: core.Nodes().Lister(), Reports: w.agent.Reports,
		Usage: func(pod *corev1.Pod) (map[string]corev1.ResourceList, bool) {
			return w.programs.Usage(pod), w.agent.Reports(pod.Spec.NodeName)
		},
	}, func(namespace, service string, port int32) bool {
		return w.runNoProgram(w.network.Servers(namespace, service, port))
	})
}

// runNoProgram reports whether there are Pods behind a port of a Service, and none of them runs a program.
func (w *Workloads) runNoProgram(servers []network.Server) bool {
	return len(servers) > 0 && !slices.ContainsFunc(servers, func(s network.Server) bool { return s.Listens || w.programs.RunsProgram(s.Pod) })
}
