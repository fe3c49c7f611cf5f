package kubelet

import (
	"slices"
	"sort"

	"github.com/prometheus/client_golang/prometheus"
)

// The upper bounds of the buckets of histograms.
var (
	probeBuckets     = prometheus.DefBuckets
	podStartBuckets  = []float64{0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}
	containerBuckets = prometheus.ExponentialBuckets(1, 2, 5)
)

// Histogram counts values in buckets.
type Histogram struct {
	Count  uint64
	Sum    float64
	uppers []float64 // the upper bounds of the buckets
	counts []uint64  // by bucket
}

// NewProbeDurations returns an empty histogram of the durations of probes in seconds.
func NewProbeDurations() Histogram { return newHistogram(probeBuckets) }

// NewPodStarts returns an empty histogram of the seconds from seeing a pod until it runs.
func NewPodStarts() Histogram { return newHistogram(podStartBuckets) }

// NewContainers returns an empty histogram of the numbers of containers per pod.
func NewContainers() Histogram { return newHistogram(containerBuckets) }

func newHistogram(uppers []float64) Histogram {
	return Histogram{uppers: uppers, counts: make([]uint64, len(uppers))}
}

// Observe adds a value n times.
func (h *Histogram) Observe(value float64, n uint64) {
	h.Count += n
	h.Sum += value * float64(n)
	if i := sort.SearchFloat64s(h.uppers, value); i < len(h.counts) {
		h.counts[i] += n
	}
}

// Clone returns a copy.
func (h Histogram) Clone() Histogram {
	h.counts = slices.Clone(h.counts)
	return h
}

// metric returns the histogram as a metric.
func (h Histogram) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	buckets, sum := make(map[float64]uint64, len(h.uppers)), uint64(0)
	for i, upper := range h.uppers {
		sum += h.counts[i]
		buckets[upper] = sum
	}
	return prometheus.MustNewConstHistogram(desc, h.Count, h.Sum, buckets, labels...)
}
