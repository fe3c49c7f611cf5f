package fakecluster_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// BenchmarkExplain is an explanation of a create, beside the create that it explains, as a dry run too:
// what the explanation adds is explained-ns/op. BenchmarkUnobserved and BenchmarkRecord have what
// explanations cost when none is requested.
func BenchmarkExplain(b *testing.B) {
	s := newBench(b, 1, fakecluster.InProcess())
	u := weighed("explained")
	var explained, plain time.Duration
	for b.Loop() {
		start := time.Now()
		e, err := s.c.Explain(fakecluster.Write{Verb: "create", Object: u})
		between := time.Now()
		must(b, err)
		equal(b, "code", e.Answer.Code, 201)
		again := time.Now()
		_, err = s.cluster.Create(b.Context(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		must(b, err)
		explained, plain = explained+between.Sub(start), plain+time.Since(again)
	}
	b.ReportMetric(float64(explained.Nanoseconds())/float64(b.N), "ns/op")
	b.ReportMetric(float64((explained-plain).Nanoseconds())/float64(b.N), "explained-ns/op")
}
