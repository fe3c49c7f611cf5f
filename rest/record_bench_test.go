package rest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/server"
)

// BenchmarkRecord measures what the history adds to a request that passes the filter, with a user, a
// revision and an answer, and what explanations and faults add that no client has requested. What the request
// costs without all of it is measured beside it. The budget is 2 µs for everything together.
func BenchmarkRecord(b *testing.B) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write([]byte("{}"))
	})
	revision, jane := int64(1), &user.DefaultInfo{Name: "jane"}
	in := history.New(nil, func() int64 { return revision - 100_000 }) // as the store does
	observed := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		o := observe.From(req.Context())
		o.User(jane)
		revision++
		o.Committed(revision)
		answer(w, req)
	})
	idle := &handler{cluster: &server.Cluster{Faults: &faultinjection.Engine{}}}
	for name, h := range map[string]http.Handler{
		"without": giveContext(nil)(parsePath(answer)), "with": giveContext(nil)(parsePath(record(in)(observed))),
		"idle": giveContext(nil)(parsePath(idle.explainWrites(idle.injectFaults(answer)))),
		"all":  giveContext(nil)(parsePath(record(in)(idle.explainWrites(idle.injectFaults(observed))))),
	} {
		b.Run(name, func(b *testing.B) {
			req := httptest.NewRequest(http.MethodPut, "/apis/example.com/v1/namespaces/default/websites/blog?fieldManager=m", nil)
			req.Header.Set("User-Agent", "website-operator/v0.0.0 (linux/amd64) kubernetes/$Format")
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(discarded{}, req)
			}
		})
	}
}

// discarded is an answer that nobody reads.
type discarded struct{}

func (discarded) Header() http.Header         { return nil }
func (discarded) Write(p []byte) (int, error) { return len(p), nil }
func (discarded) WriteHeader(int)             {}
