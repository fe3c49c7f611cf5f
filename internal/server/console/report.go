package console

import (
	"net/http"
	"sync/atomic"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/report"
	"github.com/fakecluster/fakecluster/internal/server"
)

// Report is the page about a cluster. It is safe for concurrent use.
type Report struct {
	Cluster *server.Cluster

	failure atomic.Pointer[report.Failure] // why the test failed; nil: it has not, as far as Fail was called
}

// Write writes an HTML page of what has happened into a folder, and returns its path. The page is
// one file that needs no server: a timeline of the requests by client, the objects with their revisions
// and what each changed, the Events about them, the results of webhooks, and the Findings. The name of
// the file is made of the program and the test; a number follows if there is such a file already. The
// values of Secrets are left out.
func (r *Report) Write(folder, program, test string, panics ...inspect.Panic) (path string, err error) {
	return report.File(folder, report.FileName(program, test), report.Of(test, r.failure.Load(), remembered(r.Cluster, panics)))
}

// Fail sets why a test failed, which the page shows above everything else. The first call counts.
func (r *Report) Fail(message string) {
	state, _ := r.Cluster.History.State()
	r.failure.CompareAndSwap(nil, &report.Failure{Message: printable.Text(message), After: state.Begun})
}

// Page serves the page of Write, and updates it while the cluster runs. It does not require
// credentials: any client that reaches the handler can read the page. panics returns the panics up to now;
// nil: none.
func (r *Report) Page(title string, panics func() []inspect.Panic) http.Handler {
	if panics == nil {
		panics = func() []inspect.Panic { return nil }
	}
	return &report.Live{
		Data: func() *report.Data { return report.Of(title, r.failure.Load(), remembered(r.Cluster, panics())) },
		Changed: func() <-chan struct{} {
			_, changed := r.Cluster.History.State()
			return changed
		},
		Closing: r.Cluster.Closing,
	}
}
