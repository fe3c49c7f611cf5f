package fakecluster

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/server/console"
)

// closeWith ties the cluster to a test. The end of the test closes the cluster. The test fails for faults
// that have never fired. Its log gets the server's messages about features that fakecluster does not have
// and, if the test fails, the findings.
func (c *Cluster) closeWith(t testing.TB) {
	c.server.Messages.To(func(message string) { t.Log(message) })
	c.test = t
	if !c.home.inBubble {
		c.home.testEnds = t.Context().Done()
	}
	stop := c.services.panics.watch()
	t.Cleanup(func() {
		t.Helper()
		stop()
		c.reportUnfired(t)
		if c.home.inBubble {
			for _, endless := range console.EndlessTimestamps(c.server) {
				c.TB(t).Errorf("fakecluster: after %s", strings.TrimPrefix(endless, "+"))
			}
		}
		if t.Failed() {
			if found := c.Findings(); found.Summary != "" {
				t.Log("fakecluster: " + found.String())
				c.report(t)
			}
		}
		if err := c.Close(); err != nil {
			t.Errorf("fakecluster: closing: %v", err)
		}
		if left, stack := bubble.Left(); left != "" {
			// Only a log: a later Cleanup may end it. If none does, the runtime ends the process.
			t.Logf("fakecluster: something is left in the synctest bubble that waits for ever: %s. The goroutine that waits:\n\n%s", left, stack)
		}
	})
}

// reportFolder is the environment variable that names the folder for reports.
const reportFolder = "FAKECLUSTER_REPORT"

// unseenFailure is in the page if the test has failed by an assertion that the cluster does not see.
const unseenFailure = "An assertion failed; its text is in the output of the test. To show it here, assert with c.TB(t) in place of t."

// report writes the report of a failed test, if the environment variable names a folder. If the report cannot be
// written, the test does not fail for that.
func (c *Cluster) report(t testing.TB) {
	t.Helper()
	folder := os.Getenv(reportFolder)
	if folder == "" {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			t.Logf("fakecluster: the report cannot be written: %v", p)
		}
	}()
	c.page.Fail(unseenFailure) // if none was reported
	path, err := c.WriteReport(folder, t.Name())
	if err != nil {
		t.Logf("fakecluster: the report cannot be written: %v", err)
		return
	}
	t.Logf("fakecluster: the report is in %s", path)
}

// Findings returns possible reasons of a failure, as the log of a failed test of Start shows them:
// rejected requests, conflicts, endless writes and so on. It is empty if the cluster got no
// requests. Use it in programs and tests that start a cluster with New.
func (c *Cluster) Findings() inspect.Findings {
	return console.Findings(c.server, c.services.panics.list()...)
}

// LastWrites returns the last writes of clients, at most this many, the oldest first. Each line has what the
// write changed, such as
//
//	operator update configmaps default/a: data.n: "1" → "2"
func (c *Cluster) LastWrites(most int) []string { return console.LastWrites(c.server, most) }

// WriteReport writes the page of [Cluster.ReportPage] as one HTML file into a folder, and returns its
// absolute path. The folder is created if it does not exist. The name of the file consists of the program's
// name and the title, and of a number if there is such a file already. The values of Secrets are left out.
func (c *Cluster) WriteReport(folder, title string) (path string, err error) {
	program := strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")
	if path, err = c.page.Write(folder, program, title, c.services.panics.list()...); err != nil {
		return "", err
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return path, nil
}

// ReportPage serves a page of what happens in the cluster: a timeline of the requests by client, the
// objects with their revisions and what each changed, the Events about them, the results of webhooks, and
// possible reasons of a failure. The page is updated while the cluster runs. For a failed
// test the environment variable FAKECLUSTER_REPORT=DIR writes the same as a file.
//
// The handler does not require credentials: any client that reaches it can read the page. The values of
// Secrets are left out.
func (c *Cluster) ReportPage(title string) http.Handler {
	return c.page.Page(title, c.services.panics.list)
}
