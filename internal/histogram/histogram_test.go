package histogram_test

import (
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/fakecluster/fakecluster/internal/histogram"
)

func TestHistogram(t *testing.T) {
	h := histogram.New([]float64{1, 2})
	if m := h.Metric(); m != nil {
		t.Errorf("without observations: %v", m)
	}
	h.Observe(0.5)
	h.Observe(1.5)
	is := h.Metric(histogram.Label("a", "b")).GetHistogram()
	if is.GetSampleCount() != 2 || is.GetSampleSum() != 2 || len(is.GetBucket()) != 2 || is.GetBucket()[0].GetCumulativeCount() != 1 {
		t.Errorf("classic buckets: %v", is)
	}
	if is.GetSchema() != 3 || len(is.GetPositiveSpan()) == 0 {
		t.Errorf("native buckets: %v", is)
	}
	h.Reset()
	if f := histogram.Family("f", "", dto.MetricType_HISTOGRAM, h.Metric()); f != nil {
		t.Errorf("after Reset: %v", f)
	}
}
