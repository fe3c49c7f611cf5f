package observe

import "testing"

// BenchmarkNobodyAsks measures what a write pays for explanations that nobody has asked for: the calls
// of a Recorder that is nil, as many as a create makes.
func BenchmarkNobodyAsks(b *testing.B) {
	var r *Recorder
	b.ReportAllocs()
	for b.Loop() {
		r.May(true, "")
		r.Named("blog")
		r.Writes("kubectl", false)
		r.Attempt()
	}
}
