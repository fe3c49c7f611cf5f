package fakecluster

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/rest"
)

// closeWith ties the cluster to a test: it ends with the test, and fails it for faults that have never
// fired. The test's log says what clients have
// asked for that fakecluster does not serve and, if the test fails, what has happened in the cluster.
func (c *Cluster) closeWith(t testing.TB) {
	c.server.TellGaps(func(message string) { t.Log(message) })
	c.test = t
	t.Cleanup(func() {
		t.Helper()
		c.tellUnfired(t)
		if t.Failed() {
			if lines := c.server.Findings(c.services.panics.list()...); len(lines) > 0 {
				t.Log("fakecluster: " + strings.Join(lines, "\n"))
				c.report(t)
			}
		}
		if err := c.Close(); err != nil {
			t.Errorf("fakecluster: closing: %v", err)
		}
	})
}

// reportFolder is the environment variable that names the folder for reports.
const reportFolder = "FAKECLUSTER_REPORT"

// report writes the report of a failed test, if somebody has asked for one. A test never fails because
// there is no report.
func (c *Cluster) report(t testing.TB) {
	t.Helper()
	folder := os.Getenv(reportFolder)
	if folder == "" {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			t.Logf("fakecluster: there is no report: %v", p)
		}
	}()
	program := strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")
	path, err := c.server.WriteReport(folder, program, t.Name(), c.services.panics.list()...)
	if err != nil {
		t.Logf("fakecluster: there is no report: %v", err)
		return
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	t.Logf("fakecluster: the report is in %s", path)
}

// ReportPage serves a page of what happens in the cluster: a timeline of the requests by client, the
// objects with their revisions and what each changed, what webhooks said, and what may be the reason of a
// failure. The page is brought up to date while the cluster runs. For a failed test the environment
// variable FAKECLUSTER_REPORT=DIR writes the same as a file.
//
// Whoever can reach the handler can read what has happened. It asks for no credentials; the values of
// Secrets are left out.
func (c *Cluster) ReportPage(title string) http.Handler { return c.server.ReportPage(title) }

// maxPanics is how many panics of handlers are remembered.
const maxPanics = 20

// panics are those of the handlers of a cluster: the last of them.
type panics struct {
	mu  sync.Mutex
	all []rest.Panic
}

func (p *panics) list() []rest.Panic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]rest.Panic(nil), p.all...)
}

// noting returns the handler of a service, whose panics are noted before net/http deals with them.
func (p *panics) noting(service string, now func() time.Time, h http.Handler) http.Handler {
	if now == nil {
		now = time.Now
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer func() {
			what := recover()
			if what == nil {
				return
			}
			if what != http.ErrAbortHandler {
				p.mu.Lock()
				p.all = append(p.all, rest.Panic{Time: now(), Handler: service + req.URL.Path, What: fmt.Sprint(what, placeOfPanic())})
				p.all = p.all[max(0, len(p.all)-maxPanics):]
				p.mu.Unlock()
			}
			panic(what)
		}()
		h.ServeHTTP(w, req)
	})
}

// placeOfPanic says where the panic happened that a deferred function has recovered from.
func placeOfPanic() string {
	counters := make([]uintptr, 64)
	frames := runtime.CallersFrames(counters[:runtime.Callers(3, counters)])
	for panicking := false; ; {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			panicking = true
		case panicking:
			return fmt.Sprintf(" (%s, %s:%d)", f.Function, filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}
