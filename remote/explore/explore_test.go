//go:build go1.25

package explore_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/remote/explore"
)

// A correct operator has no findings. With -v, the log has how many trials there were in a second.
func TestACorrectOperator(t *testing.T) {
	s := operator{}.subject()
	s.Trials = 120
	s.Invariants = []explore.Invariant{
		explore.Always("a text", "configmaps", remote.CEL("has(object.data)")),
		explore.Never("a long text", "configmaps", remote.CEL("has(object.data.text) && size(object.data.text) > 12")),
	}
	explore.Operator(t, s)
}

// An invariant that does not hold is a finding.
func TestAnInvariantThatDoesNotHold(t *testing.T) {
	s := operator{}.subject()
	s.Replay = "gadgets.example.com default/a: create"
	s.Invariants = []explore.Invariant{explore.Eventually("one is enough", "configmaps", remote.CEL("!object.metadata.name.endsWith('-1')"))}
	found, err := explore.FindOperator(t, s)
	if err != nil || len(found.Findings) != 1 || found.Findings[0].Oracle != explore.Holds || !strings.Contains(found.Findings[0].What, "configmaps default/a-1 breaks the invariant") {
		t.Errorf("%v, %+v", err, found)
	}
}

// An upgrade to the same operator has no findings, and one that forgets what the old version has made has one of its oracle.
func TestUpgrade(t *testing.T) {
	for prefix, want := range map[string]explore.Oracle{"": "", "new-": explore.Upgrades} {
		from, to := operator{}.subject(), operator{prefix: prefix}.subject()
		to.Trials = 12
		found, err := explore.FindUpgrade(t, from, to)
		if err != nil || found.Trials < 12 {
			t.Fatalf("%v, %+v", err, found)
		}
		if has := slices.ContainsFunc(found.Findings, func(f explore.Finding) bool { return f.Oracle == explore.Upgrades }); has != (want != "") || want == "" && len(found.Findings) > 0 {
			t.Errorf("to names with %q: %+v", prefix, found)
		}
	}
}

// A finding fails the test, is kept in testdata/explore, and its trial is the first one the next time. A page and the result as JUnit are written.
func TestFindingsAreKept(t *testing.T) {
	if folder := os.Getenv(explores); folder != "" {
		testdata = folder
		s := operator{shrinksNever: true}.subject()
		s.MaxFindings = 1
		explore.Operator(t, s)
		return
	}
	folder := t.TempDir()
	manifests, err := filepath.Abs(testdata)
	if err != nil {
		t.Fatal(err)
	}
	once := func() string {
		t.Helper()
		command := exec.Command(os.Args[0], "-test.run", "^TestFindingsAreKept$", "-explore.junit", "junit", "-explore.parallel", "1")
		command.Dir = folder
		command.Env = append(os.Environ(), explores+"="+manifests+"/", "FAKECLUSTER_REPORT=pages")
		text, err := command.CombinedOutput()
		if err == nil {
			t.Fatalf("the test passes:\n%s", text)
		}
		return string(text)
	}
	for _, trials := range []string{" trials, ", "explore: 3 trials, "} { // the finding, and what it is compared with
		text := once()
		if !strings.Contains(text, trials) {
			t.Errorf("not%s:\n%s", trials, text)
		}
		for _, part := range []string{"explore: the operator depends on the past (oracle path-independent).", "explore: TestFindingsAreKept: the operator depends on the past: ", "1 finding"} {
			if !strings.Contains(text, part) {
				t.Errorf("the output does not have %q:\n%s", part, text)
			}
		}
	}
	for _, pattern := range []string{"testdata/explore/TestFindingsAreKept/path-independent-*", "junit/TestFindingsAreKept.xml", "pages/TestFindingsAreKept-path-independent-*.html"} {
		if files, err := filepath.Glob(filepath.Join(folder, pattern)); err != nil || len(files) != 1 {
			t.Errorf("%s: %v, %v", pattern, files, err)
		}
	}
}

// explores names the folder of the manifests in a process in which TestFindingsAreKept explores.
const explores = "FAKECLUSTER_TEST_EXPLORES"

// What is wrong with a subject is an error that says what to do.
func TestSubjectsThatAreWrong(t *testing.T) {
	run := operator{}.run
	for want, s := range map[string]explore.Subject{
		"Subject.Run is nil: it has to run the operator": {Install: []string{testdata}},
		"set Subject.Resources, such as jobs.batch":      {Run: run},
		"Subject: unknown oracle":                        {Run: run, Install: []string{testdata + "crd.yaml"}, With: []explore.Oracle{"none"}},
		"option 1 is nil":                                {Run: run, Install: []string{testdata + "crd.yaml"}, Options: []remote.Option{nil}},
		"no such file or directory":                      {Run: run, Install: []string{"none.yaml"}},
		"the operator has not sent a request":            {Install: []string{testdata + "crd.yaml"}, Run: func(ctx context.Context, _ *remote.Cluster) error { <-ctx.Done(); return nil }},
		"the operator does not start: the operator has returned an error: Subject.Prepare has failed: no cloud": {Install: []string{testdata + "crd.yaml"},
			Prepare: func(t testing.TB, _ *remote.Cluster) func(context.Context, *remote.Cluster) error {
				t.Fatal("no cloud")
				return nil
			}},
	} {
		if _, err := explore.FindOperator(t, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := explore.FindOperator(t, operator{}.subject()); err == nil || !strings.Contains(err.Error(), "call it outside of synctest.Test") {
			t.Errorf("in a bubble: %v", err)
		}
	})
}

// Prepare is called once in each trial, with a cluster of its administrator, and what it returns runs again after each restart.
func TestPrepare(t *testing.T) {
	var prepared, ran atomic.Int64
	s := operator{}.subject()
	s.Replay = "gadgets.example.com default/a: create; restart; delete"
	s.Prepare = func(_ testing.TB, c *remote.Cluster) func(context.Context, *remote.Cluster) error {
		prepared.Add(1)
		if _, _, err := (client{c}).list(context.Background(), "/api/v1/secrets"); err != nil {
			t.Errorf("the administrator: %v", err)
		}
		return func(ctx context.Context, c *remote.Cluster) error {
			ran.Add(1)
			if _, _, err := (client{c}).list(ctx, "/api/v1/secrets"); !errors.Is(err, failure(http.StatusForbidden)) {
				t.Errorf("the operator: %v", err)
			}
			return operator{}.run(ctx, c)
		}
	}
	s.Run, s.Without = nil, []explore.Oracle{explore.Permitted}
	found, err := explore.FindOperator(t, s)
	if err != nil || len(found.Findings) > 0 {
		t.Errorf("%v, %+v", err, found)
	}
	if p, r := prepared.Load(), ran.Load(); p < 2 || r <= p {
		t.Errorf("prepared %d times, and run %d times", p, r)
	}
}

// What a fake that Prepare has made reports is the error of the trial.
func TestAFakeFailsTheTrial(t *testing.T) {
	s := operator{}.subject()
	s.Run = nil
	s.Prepare = func(t testing.TB, _ *remote.Cluster) func(context.Context, *remote.Cluster) error {
		return operator{before: func(context.Context) { t.Errorf("the cloud has no region %q", "moon") }}.run
	}
	if _, err := explore.FindOperator(t, s); err == nil || !strings.Contains(err.Error(), `the cloud has no region "moon"`) {
		t.Errorf("%v", err)
	}
}

// An operator with a transport of its own cannot be explored, which is said once.
func TestAnOperatorWithATransportOfItsOwn(t *testing.T) {
	s := operator{}.subject()
	s.Run = func(ctx context.Context, c *remote.Cluster) error {
		req, err := http.NewRequestWithContext(ctx, "GET", c.URL()+configMaps, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+c.Token())
		answer, err := (&http.Client{Transport: &http.Transport{}}).Do(req)
		if err != nil {
			return err
		}
		answer.Body.Close()
		return operator{}.run(ctx, c)
	}
	if _, err := explore.FindOperator(t, s); err == nil || !strings.Contains(err.Error(), "give the client the transport of the cluster") {
		t.Errorf("%v", err)
	}
}

// A panic from which a library recovers is a finding if it is noted.
func TestNotePanic(t *testing.T) {
	s := operator{}.subject()
	s.Run = func(ctx context.Context, c *remote.Cluster) error {
		func() {
			defer func() { remote.NotePanic(recover()) }()
			gadgets, _, err := client{c}.list(ctx, gadgets)
			if err == nil && len(gadgets) > 0 {
				panic("there is one")
			}
		}()
		return operator{}.run(ctx, c)
	}
	s.Replay = "gadgets.example.com default/a: create; restart"
	found, err := explore.FindOperator(t, s)
	if err != nil || len(found.Findings) != 1 || found.Findings[0].Oracle != explore.NoPanic || !strings.Contains(found.Findings[0].Report, "there is one (") {
		t.Errorf("%v, %+v", err, found)
	}
}

// What lives in the cluster is there for the operator, too.
func TestTheOperatorHasTheNodes(t *testing.T) {
	s := operator{}.subject()
	s.Workloads, s.Replay = `{"nodes": 1}`, "gadgets.example.com default/a: create"
	s.Run = func(ctx context.Context, c *remote.Cluster) error {
		if err := c.Node("none").Cordon(); err == nil || strings.Contains(err.Error(), "nothing lives in the cluster") {
			t.Errorf("a node that is not there: %v", err)
		}
		return operator{}.run(ctx, c)
	}
	if _, err := explore.FindOperator(t, s); err != nil {
		t.Error(err)
	}
}

// A write that only libraries send has no line of code, and not one of the host.
func TestAWriteOfALibraryHasNoLine(t *testing.T) {
	s := operator{}.subject()
	s.Run = func(ctx context.Context, c *remote.Cluster) error {
		req, err := http.NewRequestWithContext(ctx, "POST", c.URL()+"/api/v1/namespaces/default/configmaps", strings.NewReader(`{"metadata": {"name": "a"}, "unknown": 1}`))
		if err != nil {
			return err
		}
		req.Header = http.Header{"Authorization": {"Bearer " + c.Token()}, "Content-Type": {"application/json"}}
		go (&http.Client{Transport: c.Transport()}).Do(req)
		return operator{}.run(ctx, c)
	}
	_, err := explore.FindOperator(t, s)
	if err == nil || !strings.Contains(err.Error(), "the server warns about a write") || strings.Contains(err.Error(), ".go:") {
		t.Errorf("%v", err)
	}
}

// A step of a trial reaches the operator on time, and not at the next frame.
func TestStepsComeOnTime(t *testing.T) {
	var mu sync.Mutex
	var late []time.Duration
	s := operator{}.subject()
	s.Replay = "gadgets.example.com default/a: create"
	s.Run = func(ctx context.Context, c *remote.Cluster) error {
		began, once := time.Now(), sync.Once{}
		return operator{reconciled: func() {
			once.Do(func() {
				mu.Lock()
				defer mu.Unlock()
				passed := time.Since(began) // 10 seconds, or 11 minutes in a trial that confirms
				late = append(late, passed-passed.Truncate(time.Second))
			})
		}}.run(ctx, c)
	}
	if _, err := explore.FindOperator(t, s); err != nil {
		t.Fatal(err)
	}
	if len(late) == 0 || slices.Max(late) > time.Microsecond {
		t.Errorf("the Gadget comes late by %v", late)
	}
}
