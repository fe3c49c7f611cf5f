package kubelet

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// Probe is a probe of a container of a pod.
type Probe struct{ Kind, Container, Pod, Namespace, UID string }

// Probes has the number of failed runs of a probe, and the durations of passed ones.
type Probes struct {
	Failed int
	Passed Histogram
}

// The metrics of /metrics/probes.
var (
	probeTotal = prometheus.NewDesc("prober_probe_total", "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.",
		[]string{"probe_type", "result", "container", "pod", "namespace", "pod_uid"}, nil)
	probeDuration = prometheus.NewDesc("prober_probe_duration_seconds", "[ALPHA] Duration in seconds for a probe response.",
		[]string{"probe_type", "container", "pod", "namespace"}, nil)
)

// probeMetrics returns the handler of /metrics/probes.
func probeMetrics(node Node) http.Handler { return serveMetrics(probeCollector{node}) }

// probeCollector collects the metrics when they are read.
type probeCollector struct{ node Node }

// Describe implements prometheus.Collector.
func (probeCollector) Describe(to chan<- *prometheus.Desc) { to <- probeTotal; to <- probeDuration }

// Collect implements prometheus.Collector.
func (c probeCollector) Collect(to chan<- prometheus.Metric) {
	for probe, runs := range c.node.Probes() {
		total := func(result string, n int) {
			if n > 0 {
				to <- prometheus.MustNewConstMetric(probeTotal, prometheus.CounterValue, float64(n), probe.Kind, result, probe.Container, probe.Pod, probe.Namespace, probe.UID)
			}
		}
		total("failed", runs.Failed)
		total("successful", int(runs.Passed.Count))
		if runs.Passed.Count > 0 {
			to <- runs.Passed.metric(probeDuration, probe.Kind, probe.Container, probe.Pod, probe.Namespace)
		}
	}
}
