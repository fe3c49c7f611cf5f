package rest

import (
	"net/http"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/report"
)

// WriteReport writes an HTML page of what has happened into a folder, and returns its path. The page is
// one file that needs no server: a timeline of the requests by client, the objects with their revisions
// and what each changed, the Events about them, the results of webhooks, and the Findings. The name of
// the file is made of the program and the test; a number follows if there is such a file already. The
// values of Secrets are left out.
func (s *Server) WriteReport(folder, program, test string, panics ...inspect.Panic) (path string, err error) {
	return report.File(folder, report.FileName(program, test), report.Of(test, s.failure.Load(), s.remembered(panics)))
}

// ReportFailure sets why a test failed, which the page shows above everything else. The first call counts.
func (s *Server) ReportFailure(message string) {
	state, _ := s.history.State()
	s.failure.CompareAndSwap(nil, &report.Failure{Message: printable.Text(message), After: state.Begun})
}

// ReportPage serves the page of WriteReport, and updates it while the server runs. It does not require
// credentials: any client that reaches the handler can read the page. panics returns the panics up to now;
// nil: none.
func (s *Server) ReportPage(title string, panics func() []inspect.Panic) http.Handler {
	if panics == nil {
		panics = func() []inspect.Panic { return nil }
	}
	return &report.Live{
		Data: func() *report.Data { return report.Of(title, s.failure.Load(), s.remembered(panics())) },
		Changed: func() <-chan struct{} {
			_, changed := s.history.State()
			return changed
		},
		Closing: s.closing,
	}
}
