package processwide

import (
	"runtime"

	"k8s.io/client-go/util/workqueue"
)

func init() { workqueue.SetProvider(withoutMetrics{}) }

// withoutMetrics is a metrics provider whose metrics do nothing.
type withoutMetrics struct{}

func (withoutMetrics) NewDepthMetric(string) workqueue.GaugeMetric            { return nothing{} }
func (withoutMetrics) NewAddsMetric(string) workqueue.CounterMetric           { return nothing{} }
func (withoutMetrics) NewLatencyMetric(string) workqueue.HistogramMetric      { return nothing{} }
func (withoutMetrics) NewWorkDurationMetric(string) workqueue.HistogramMetric { return nothing{} }
func (withoutMetrics) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return unfinished{}
}
func (withoutMetrics) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return nothing{}
}
func (withoutMetrics) NewRetriesMetric(string) workqueue.CounterMetric { return nothing{} }

type nothing struct{}

func (nothing) Inc()            {}
func (nothing) Dec()            {}
func (nothing) Observe(float64) {}
func (nothing) Set(float64)     {}

// unfinished is the metric that a queue updates every 500 ms, on a goroutine that does nothing else.
type unfinished struct{}

// Set ends the goroutine that updates the metric. client-go has no other way to avoid this goroutine once any package
// has set a provider, and k8s.io/apiserver imports one that does.
func (unfinished) Set(float64) { runtime.Goexit() }
