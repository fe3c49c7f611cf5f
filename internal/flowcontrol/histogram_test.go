package flowcontrol

import (
	"testing"

	dto "github.com/prometheus/client_model/go"
)

func TestHistogram(t *testing.T) {
	h := NewHistogram([]float64{1, 2})
	if m := h.Metric(); m != nil {
		t.Errorf("without observations: %v", m)
	}
	h.Observe(0.5)
	h.Observe(1.5)
	got := h.Metric(Label("a", "b")).GetHistogram()
	if got.GetSampleCount() != 2 || got.GetSampleSum() != 2 || len(got.GetBucket()) != 2 || got.GetBucket()[0].GetCumulativeCount() != 1 {
		t.Errorf("classic buckets: %v", got)
	}
	if got.GetSchema() != 3 || len(got.GetPositiveSpan()) == 0 {
		t.Errorf("native buckets: %v", got)
	}
	h.Reset()
	if f := Family("f", "", dto.MetricType_HISTOGRAM, h.Metric()); f != nil {
		t.Errorf("after Reset: %v", f)
	}
}
