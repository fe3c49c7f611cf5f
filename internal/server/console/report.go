package console

import (
	"net/http"
	"sync/atomic"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/report"
	"github.com/fakecluster/fakecluster/internal/server"
)

// Report writes and serves the HTML page of a cluster. It is safe for concurrent use.
type Report struct {
	Cluster *server.Cluster

	failure atomic.Pointer[report.Failure] // why the test failed; nil: Fail was not called
}

// Write writes an HTML page about the cluster into a folder, and returns its path. The page is one file that needs no
// server: a timeline of the requests by client, the objects with their revisions and what each changed, the Events about
// them, the results of webhooks, and the Findings. The file name consists of the program and the test, and of a number
// if such a file exists. Values of Secrets are left out.
func (r *Report) Write(folder, program, test string, panics ...inspect.Panic) (path string, err error) {
	return report.File(folder, report.FileName(program, test), report.New(test, r.failure.Load(), remembered(r.Cluster, panics)))
}

// Fail sets why the test failed; the page shows it at its top. Only the first call has an effect.
func (r *Report) Fail(message string) {
	state, _ := r.Cluster.History.State()
	r.failure.CompareAndSwap(nil, &report.Failure{Message: printable.Text(message), After: state.Begun})
}

// Page returns a handler that serves the page of Write, and updates it while the cluster runs. It does not require
// credentials: any client that reaches the handler can read the page. panics returns the panics up to now; nil: none.
func (r *Report) Page(title string, panics func() []inspect.Panic) http.Handler {
	if panics == nil {
		panics = func() []inspect.Panic { return nil }
	}
	return &report.Live{
		Data: func() *report.Data { return report.New(title, r.failure.Load(), remembered(r.Cluster, panics())) },
		Changed: func() <-chan struct{} {
			_, changed := r.Cluster.History.State()
			return changed
		},
		Closing: r.Cluster.Closing,
	}
}
