package fakecluster_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
)

// lineOfTest is the line of an assertion.
var lineOfTest = regexp.MustCompile(`_test\.go:\d+:`)

// The page shows the first failed assertion, if it is one of fakecluster or one that the cluster sees.
func TestThePageShowsTheFirstFailedAssertion(t *testing.T) {
	for _, test := range []struct {
		rule string
		fail func(tb *failing, c *fakecluster.Cluster)
		want string
	}{
		{"of the test", func(tb *failing, c *fakecluster.Cluster) {
			c.TB(tb).Errorf("%d replicas, want 3", 1)
			c.TB(tb).Errorf("the second")
		}, `{"m":"assertion_test.go:LINE: 1 replicas, want 3","n":1}`},
		{"of a handler", func(tb *failing, c *fakecluster.Cluster) {
			c.ReportFailure("Expected 1 to equal 2")
			tb.failed = true
		}, `{"m":"assertion_test.go:LINE: Expected 1 to equal 2","n":1}`},
		{"of this package", func(tb *failing, c *fakecluster.Cluster) {
			_, _ = mapsOf(c.ConfigFor("jane")).List(t.Context(), metav1.ListOptions{})
			c.CheckBudget(tb, fakecluster.Budget{AtRest: true})
		}, `{"m":"assertion_test.go:LINE: fakecluster: more requests than the budget allows:\n\t`},
		{"of a fault that never struck", func(_ *failing, c *fakecluster.Cluster) {
			c.Inject(faults.Fault{Verb: "create", Resource: "secrets", Effect: faults.Conflict()})
		}, `{"m":"failure_test.go:LINE: fakecluster: the fault never fired: create secrets: Conflict; no request matched`},
		{"of anything else", func(tb *failing, _ *fakecluster.Cluster) { tb.Errorf("no") },
			`{"m":"An assertion failed; its text is in the output of the test. To show it here, assert with c.TB(t) in place of t.","n":1}`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			folder := t.TempDir()
			t.Setenv("FAKECLUSTER_REPORT", folder)
			tb := &failing{TB: t}
			c := fakecluster.Start(tb, fakecluster.InProcess())
			_, err := mapsOf(c.RESTConfig()).List(t.Context(), metav1.ListOptions{})
			must(t, err)
			test.fail(tb, c)
			tb.end()
			pages, err := filepath.Glob(folder + "/*.html")
			must(t, err)
			equal(t, "pages", len(pages), 1)
			page, err := os.ReadFile(pages[0])
			must(t, err)
			_, got, _ := strings.Cut(string(page), `"failure":`)
			got, _, _ = strings.Cut(got, `,"began"`)
			if got = lineOfTest.ReplaceAllString(got, "_test.go:LINE:"); !strings.HasPrefix(got, test.want) {
				t.Errorf("it is %.300s\nwant %s", got, test.want)
			}
		})
	}
}
