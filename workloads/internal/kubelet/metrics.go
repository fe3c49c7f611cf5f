package kubelet

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// The metrics of /metrics/resource. There are none of swap, as on a Node without swap.
var (
	nodeCPU         = stableDesc("node_cpu_usage_seconds_total", "Cumulative cpu time consumed by the node in core-seconds", nil)
	nodeMemory      = stableDesc("node_memory_working_set_bytes", "Current working set of the node in bytes", nil)
	podCPU          = stableDesc("pod_cpu_usage_seconds_total", "Cumulative cpu time consumed by the pod in core-seconds", ofPod)
	podMemory       = stableDesc("pod_memory_working_set_bytes", "Current working set of the pod in bytes", ofPod)
	containerStart  = stableDesc("container_start_time_seconds", "Start time of the container since unix epoch in seconds", ofContainer)
	containerCPU    = stableDesc("container_cpu_usage_seconds_total", "Cumulative cpu time consumed by the container in core-seconds", ofContainer)
	containerMemory = stableDesc("container_memory_working_set_bytes", "Current working set of the container in bytes", ofContainer)
	scrapeError     = stableDesc("resource_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise", nil)

	ofPod       = []string{"pod", "namespace"}
	ofContainer = []string{"container", "pod", "namespace"}
)

func stableDesc(name, help string, labels []string) *prometheus.Desc {
	return prometheus.NewDesc(name, "[STABLE] "+help, labels, nil)
}

// resourceMetrics returns the handler of /metrics/resource, which as in a kubelet has the values of /stats/summary. The
// kubelet's own collector is not used, because it imports 60 packages for the type of its argument.
func resourceMetrics(node Node) http.Handler { return serveMetrics(collector{node}) }

// serveMetrics returns a handler of the metrics of collectors. It does not use a registry of component-base, which keeps each
// registry, and with it the node, until the process ends.
func serveMetrics(collectors ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors...)
	return metrics.HandlerFor(registry, metrics.HandlerOpts{ErrorHandling: metrics.ContinueOnError})
}

// collector collects the metrics when they are read.
type collector struct{ node Node }

// Describe implements prometheus.Collector.
func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{nodeCPU, nodeMemory, podCPU, podMemory, containerStart, containerCPU, containerMemory, scrapeError} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	summary := summaryOf(c.node, time.Now())
	used := func(cpu, memory *prometheus.Desc, c *stats.CPUStats, m *stats.MemoryStats, labels ...string) {
		spent := float64(*c.UsageCoreNanoSeconds) / float64(time.Second)
		to <- prometheus.NewMetricWithTimestamp(c.Time.Time, prometheus.MustNewConstMetric(cpu, prometheus.CounterValue, spent, labels...))
		to <- prometheus.NewMetricWithTimestamp(m.Time.Time, prometheus.MustNewConstMetric(memory, prometheus.GaugeValue, float64(*m.WorkingSetBytes), labels...))
	}
	used(nodeCPU, nodeMemory, summary.Node.CPU, summary.Node.Memory)
	for _, p := range summary.Pods {
		for _, c := range p.Containers {
			labels := []string{c.Name, p.PodRef.Name, p.PodRef.Namespace}
			started := float64(c.StartTime.UnixNano()) / float64(time.Second)
			to <- prometheus.MustNewConstMetric(containerStart, prometheus.GaugeValue, started, labels...)
			used(containerCPU, containerMemory, c.CPU, c.Memory, labels...)
		}
		used(podCPU, podMemory, p.CPU, p.Memory, p.PodRef.Name, p.PodRef.Namespace)
	}
	to <- prometheus.MustNewConstMetric(scrapeError, prometheus.GaugeValue, 0)
}
