package explore_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
)

// child is the environment variable that is set in processes whose tests fail, or leave goroutines, on purpose.
const child = "FAKECLUSTER_EXPLORE_CHILD"

// runChild runs a test in a process of its own, in a folder, and returns its output.
func runChild(t *testing.T, folder, test string, flags ...string) string {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable, append([]string{"-test.run", "^" + test + "$", "-test.v"}, flags...)...)
	cmd.Args[0] = "explore-" + filepath.Base(executable) // as if the package were called explore-something
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), child+"=1")
	out, _ := cmd.CombinedOutput() // most fail
	return string(out)
}

func TestChildLeaks(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("it is for TestLeftGoroutinesAreReported")
	}
	explore.Operator(t, leaving(func() { go func() { <-make(chan struct{}) }() }))
}

func TestLeftGoroutinesAreReported(t *testing.T) {
	out := runChild(t, ".", "TestChildLeaks")
	want := `(?s)explore: goroutines wait forever after the operator has ended\s+1 goroutines, the first:\s+goroutine .*child_test\.go:\d+.*End them with the context of Subject\.Run`
	if !regexp.MustCompile(want).MatchString(out) {
		t.Error(out)
	}
}

func TestChildLeavesGoroutineOfRun(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("it is for TestGoroutinesLeftByARunAreReported")
	}
	explore.Run(t, func(_ testing.TB, c *explore.Cluster) {
		control(c, func(ctx context.Context) error {
			go func() { <-make(chan struct{}) }()
			<-ctx.Done()
			return nil
		})
	})
}

func TestGoroutinesLeftByARunAreReported(t *testing.T) {
	out := runChild(t, ".", "TestChildLeavesGoroutineOfRun")
	want := `(?s)explore: the test fails without any fault:.*goroutines wait forever after the run: end what the test or a controller starts, such as an informer, a watch or a worker, with the context of c\.Control: .*child_test\.go:\d+`
	if !regexp.MustCompile(want).MatchString(out) {
		t.Error(out)
	}
}

func TestChildIgnoresItsContext(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("it is for TestAControllerThatIgnoresItsContextIsNamed")
	}
	explore.Run(t, func(_ testing.TB, c *explore.Cluster) {
		control(c, func(context.Context) error {
			for {
				time.Sleep(time.Second)
			}
		})
	})
}

// A controller that goes on after its context has ended keeps the bubble of its run for ever, which only the end of the process can end.
func TestAControllerThatIgnoresItsContextIsNamed(t *testing.T) {
	out := runChild(t, ".", "TestChildIgnoresItsContext")
	const want = "panic: explore: TestChildIgnoresItsContext: the controller c ignores its context: it has not stopped a day after that has ended, so the run cannot end. " +
		"Return when ctx.Done() is closed, and sleep with a timer beside it: select { case <-ctx.Done(): return nil; case <-time.After(pause): }"
	if !strings.Contains(out, want) {
		t.Error(out)
	}
}

// leaving is an operator that calls leave when it starts.
func leaving(leave func()) explore.Subject {
	s := gadgetOperator{}.subject()
	run := s.Run
	s.Run = func(ctx context.Context, config *rest.Config) error {
		leave()
		return run(ctx, config)
	}
	s.Trials = 3
	return s
}

func TestChildLeavesFilteredWatch(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("it is for TestLeftGoroutinesThatDoNotCount")
	}
	explore.Operator(t, leaving(func() {
		w := watch.NewFake()
		watch.Filter(w, func(e watch.Event) (watch.Event, bool) { return e, true }) // nobody reads it
		w.Add(&corev1.Pod{})
	}))
}

func TestChildLeavesWithoutOracle(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("it is for TestLeftGoroutinesThatDoNotCount")
	}
	s := leaving(func() { go func() { <-make(chan struct{}) }() })
	s.Without = []explore.Oracle{explore.NoLeak}
	explore.Operator(t, s)
}

// What Kubernetes' libraries leave behind is not the operator's, and the oracle can be switched off.
func TestLeftGoroutinesThatDoNotCount(t *testing.T) {
	for _, test := range []string{"TestChildLeavesFilteredWatch", "TestChildLeavesWithoutOracle"} {
		if out := runChild(t, ".", test); !strings.Contains(out, "--- PASS: "+test) || !strings.Contains(out, ", 0 findings") {
			t.Error(out)
		}
	}
}

func TestChildHasStatusInSeed(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("it is for TestTheNameOfTheProgramDoesNotMatter")
	}
	sample, err := os.ReadFile("testdata/gadget/sample.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seed := filepath.Join(t.TempDir(), "seed.yaml")
	if err := os.WriteFile(seed, append(sample, "\nstatus: {made: 1}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	s := gadgetOperator{}.subject()
	s.Seeds, s.Trials = []string{seed}, 3
	explore.Operator(t, s)
}

// The name of the program is the user agent of the exploration itself. Its requests are not the operator's, although the name of the
// program contains what the user agents of the operator contain: the user creates an object with a status, which the server drops.
func TestTheNameOfTheProgramDoesNotMatter(t *testing.T) {
	if out := runChild(t, ".", "TestChildHasStatusInSeed"); !strings.Contains(out, "--- PASS: TestChildHasStatusInSeed") || !strings.Contains(out, "explore: 3 trials, 0 rejected by the API server, 0 findings") {
		t.Error(out)
	}
}

func TestChildFinds(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("it is for TestFindingsAreTriedFirst")
	}
	s := gadgetOperator{forgetsToShrink: true}.subject()
	s.Trials = 60
	explore.Operator(t, s)
}

// A finding is written to testdata/explore, is tried first the next time, and can be replayed by a flag.
func TestFindingsAreTriedFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it explores twice")
	}
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "testdata", "gadget"), os.DirFS("testdata/gadget")); err != nil {
		t.Fatal(err)
	}
	const trial = "gadgets.example.com default/a: create; remove /spec/count"
	first := runChild(t, folder, "TestChildFinds", "-explore.parallel=1")
	files, err := filepath.Glob(filepath.Join(folder, "testdata/explore/TestChildFinds/path-independent-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files: %q, %v\n%s", files, err, first)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := "# configmaps default/a-1 exists\n" + trial + "\n"; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	// A trial of the corpus alone finds it: a file that names another one is tried, too.
	if err := os.WriteFile(files[0], []byte("gadgets.example.com default/a: create; set /spec/count 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "testdata/explore/TestChildFinds/old"), []byte("gadgets.example.com default/old: create\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := runChild(t, folder, "TestChildFinds", "-explore.parallel=1")
	if !strings.Contains(second, "-explore.replay='gadgets.example.com default/a: create; set /spec/count 0'") {
		t.Errorf("the corpus was not tried first:\n%s", second)
	}
	if want := `the former finding testdata/explore/TestChildFinds/old is left out: the trial "gadgets.example.com default/old: create" does not begin with the name of a seed; the seeds are gadgets.example.com default/a`; !strings.Contains(second, want) {
		t.Errorf("the log does not have %q:\n%s", want, second)
	}
	if out := runChild(t, folder, "TestChildFinds", "-explore.time=-1s", "-explore.parallel=0"); !strings.Contains(out, "explore: -explore.time is -1s and -explore.parallel 0: the time must not be negative, and at least one trial must run") {
		t.Errorf("wrong flags:\n%s", out)
	}
	replayed := runChild(t, folder, "TestChildFinds", "-explore.replay="+trial)
	if !strings.Contains(replayed, "configmaps default/a-1 exists\n") || !strings.Contains(replayed, "explore: 3 trials, 0 rejected by the API server, 1 finding") {
		t.Errorf("the replay:\n%s", replayed)
	}
}
