package flowcontrol

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Histogram counts observations in classic and native buckets, as a server of this release does. It is safe for
// concurrent use.
type Histogram struct {
	buckets []float64
	made    atomic.Pointer[prometheus.Histogram]
}

// NewHistogram returns a histogram whose classic buckets have the given upper bounds.
func NewHistogram(buckets []float64) *Histogram {
	h := &Histogram{buckets: buckets}
	h.Reset()
	return h
}

// Reset drops all observations.
func (h *Histogram) Reset() {
	// The factor and the limit of native buckets are those of k8s.io/component-base/metrics.
	next := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Buckets: h.buckets, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160})
	h.made.Store(&next)
}

// Observe adds an observation.
func (h *Histogram) Observe(value float64) { (*h.made.Load()).Observe(value) }

// Metric returns the histogram with labels; nil if nothing has been observed.
func (h *Histogram) Metric(labels ...*dto.LabelPair) *dto.Metric {
	m := &dto.Metric{}
	if err := (*h.made.Load()).Write(m); err != nil || m.GetHistogram().GetSampleCount() == 0 {
		return nil // a histogram without labels can always be written
	}
	m.Label = labels
	return m
}

// Label returns a label pair.
func Label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

// Family returns a metric with its values, except nil ones. It returns nil if no value is left.
func Family(name, help string, t dto.MetricType, metrics ...*dto.Metric) *dto.MetricFamily {
	f := &dto.MetricFamily{Name: &name, Help: &help, Type: &t}
	f.Metric = slices.DeleteFunc(metrics, func(m *dto.Metric) bool { return m == nil })
	if len(f.Metric) == 0 {
		return nil
	}
	slices.SortFunc(f.Metric, func(a, b *dto.Metric) int {
		return slices.CompareFunc(a.Label, b.Label, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetValue(), b.GetValue()) })
	})
	return f
}
