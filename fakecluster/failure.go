package fakecluster

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// closeWith ties the cluster to a test: it ends with the test, and fails it for faults that have never
// fired. The test's log says what clients have
// asked for that fakecluster does not serve and, if the test fails, what has happened in the cluster.
func (c *Cluster) closeWith(t testing.TB) {
	c.server.OnUnsupported(func(message string) { t.Log(message) })
	c.test = t
	stop := c.services.panics.watch()
	t.Cleanup(func() {
		t.Helper()
		stop()
		c.reportUnfired(t)
		if c.home.inBubble {
			for _, endless := range c.server.EndlessTimestamps() {
				t.Errorf("fakecluster: %s", endless)
			}
		}
		if t.Failed() {
			if found := c.server.Findings(c.services.panics.list()...); found.Summary != "" {
				t.Log("fakecluster: " + found.String())
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
// objects with their revisions and what each changed, the Events that tell of them, what webhooks said, and
// what may be the reason of a failure. The page is brought up to date while the cluster runs. For a failed
// test the environment variable FAKECLUSTER_REPORT=DIR writes the same as a file.
//
// Whoever can reach the handler can read what has happened. It asks for no credentials; the values of
// Secrets are left out.
func (c *Cluster) ReportPage(title string) http.Handler {
	return c.server.ReportPage(title, c.services.panics.list)
}
