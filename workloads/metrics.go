package workloads

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads/internal/metrics"
)

// serveMetrics serves metrics.k8s.io, unless another server does. The nodes have been made.
func (w *Workloads) serveMetrics(ctx context.Context, c *fakecluster.Cluster, shared informers.SharedInformerFactory) error {
	objects, err := w.objects()
	if err != nil {
		return err
	}
	wanted, err := metrics.Wanted(ctx, objects)
	if err != nil || !wanted || c.ServiceURL(metrics.Namespace, metrics.Service, metrics.Port) != "" {
		return err
	}
	core := shared.Core().V1()
	err = w.attachment.Serve(metrics.Namespace, metrics.Service, metrics.Port, &metrics.Handler{
		Pods: core.Pods().Lister(), Nodes: core.Nodes().Lister(), Reports: w.agent.Reports,
		Usage: func(pod *corev1.Pod) (map[string]corev1.ResourceList, bool) {
			return w.agent.Usage(pod), w.agent.Reports(pod.Spec.NodeName)
		},
	})
	if err != nil {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return metrics.Install(ctx, objects, metrics.Port)
}

// objects returns a client for all kinds.
func (w *Workloads) objects() (dynamic.Interface, error) {
	return dynamic.NewForConfig(w.attachment.ConfigFor("system:workloads", "system:masters"))
}

// removeMetrics deletes the APIService of metrics, if it is ours.
func (w *Workloads) removeMetrics() error {
	if w.agent == nil {
		return nil
	}
	objects, err := w.objects()
	if err != nil {
		return err
	}
	return metrics.Remove(context.Background(), objects)
}
