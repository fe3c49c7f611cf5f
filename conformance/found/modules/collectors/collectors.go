// Package collectors lets two versions of an operator be in one program: both register the collectors of their metrics, which have the same names, as soon
// as they are imported. Those of the second version are left out.
//
// Go initializes packages in the order of their import paths, so that this one comes before those below "copied". A test that imports two versions imports
// it, too.
package collectors

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

func init() { metrics.Registry = registry{metrics.Registry} }

type registry struct{ metrics.RegistererGatherer }

func (r registry) MustRegister(collectors ...prometheus.Collector) {
	for _, c := range collectors {
		_ = r.Register(c)
	}
}
