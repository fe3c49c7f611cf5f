package observe

import (
	"testing"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// BenchmarkUnobserved measures what a write pays for the explanation and the audit event that it does not have:
// the calls that a create makes.
func BenchmarkUnobserved(b *testing.B) {
	r, v := &Request{}, &resource.Version{}
	b.ReportAllocs()
	for b.Loop() {
		r.Decision(true, "", nil)
		r.Decoded(v, nil, "", nil, nil)
		w := r.Write(v, "", false)
		w.Attempt("kubectl")
		w.Preparing(nil)
		w.Prepared(b.Context(), nil, nil, nil)
		w.Changed(nil, nil)
		w.Committed(1)
		w.Created(nil)
	}
}
