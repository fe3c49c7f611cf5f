package kubelet

import (
	"net/http"
	"time"

	"k8s.io/component-base/metrics"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// The metrics of /metrics/resource. There are none of swap, as on a Node without swap.
var (
	nodeCPU        = metrics.NewDesc("node_cpu_usage_seconds_total", "Cumulative cpu time consumed by the node in core-seconds", nil, nil, metrics.STABLE, "")
	nodeMemory     = metrics.NewDesc("node_memory_working_set_bytes", "Current working set of the node in bytes", nil, nil, metrics.STABLE, "")
	podCPU         = metrics.NewDesc("pod_cpu_usage_seconds_total", "Cumulative cpu time consumed by the pod in core-seconds", ofPod, nil, metrics.STABLE, "")
	podMemory      = metrics.NewDesc("pod_memory_working_set_bytes", "Current working set of the pod in bytes", ofPod, nil, metrics.STABLE, "")
	containerStart = metrics.NewDesc("container_start_time_seconds", "Start time of the container since unix epoch in seconds",
		ofContainer, nil, metrics.STABLE, "")
	containerCPU = metrics.NewDesc("container_cpu_usage_seconds_total", "Cumulative cpu time consumed by the container in core-seconds",
		ofContainer, nil, metrics.STABLE, "")
	containerMemory = metrics.NewDesc("container_memory_working_set_bytes", "Current working set of the container in bytes", ofContainer, nil, metrics.STABLE, "")
	scrapeError     = metrics.NewDesc("resource_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise", nil, nil, metrics.STABLE, "")

	ofPod       = []string{"pod", "namespace"}
	ofContainer = []string{"container", "pod", "namespace"}
)

// resourceMetrics returns the handler of /metrics/resource, which as in a kubelet has the values of /stats/summary. The
// kubelet's own collector is not used, because it imports 60 packages for the type of its argument.
func resourceMetrics(node Node) http.Handler {
	registry := metrics.NewKubeRegistry()
	registry.CustomMustRegister(&collector{node: node})
	return metrics.HandlerFor(registry, metrics.HandlerOpts{ErrorHandling: metrics.ContinueOnError})
}

// collector collects the metrics when they are read.
type collector struct {
	metrics.BaseStableCollector
	node Node
}

// DescribeWithStability implements metrics.StableCollector.
func (c *collector) DescribeWithStability(to chan<- *metrics.Desc) {
	for _, desc := range []*metrics.Desc{nodeCPU, nodeMemory, podCPU, podMemory, containerStart, containerCPU, containerMemory, scrapeError} {
		to <- desc
	}
}

// CollectWithStability implements metrics.StableCollector.
func (c *collector) CollectWithStability(to chan<- metrics.Metric) {
	summary := summaryOf(c.node, time.Now())
	used := func(cpu, memory *metrics.Desc, c *stats.CPUStats, m *stats.MemoryStats, labels ...string) {
		spent := float64(*c.UsageCoreNanoSeconds) / float64(time.Second)
		to <- metrics.NewLazyMetricWithTimestamp(c.Time.Time, metrics.NewLazyConstMetric(cpu, metrics.CounterValue, spent, labels...))
		to <- metrics.NewLazyMetricWithTimestamp(m.Time.Time, metrics.NewLazyConstMetric(memory, metrics.GaugeValue, float64(*m.WorkingSetBytes), labels...))
	}
	used(nodeCPU, nodeMemory, summary.Node.CPU, summary.Node.Memory)
	for _, p := range summary.Pods {
		for _, c := range p.Containers {
			labels := []string{c.Name, p.PodRef.Name, p.PodRef.Namespace}
			started := float64(c.StartTime.UnixNano()) / float64(time.Second)
			to <- metrics.NewLazyConstMetric(containerStart, metrics.GaugeValue, started, labels...)
			used(containerCPU, containerMemory, c.CPU, c.Memory, labels...)
		}
		used(podCPU, podMemory, p.CPU, p.Memory, p.PodRef.Name, p.PodRef.Namespace)
	}
	to <- metrics.NewLazyConstMetric(scrapeError, metrics.GaugeValue, 0)
}
