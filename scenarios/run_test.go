package scenarios

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// runPattern is an environment variable with the pattern that TestRunChild plays.
const runPattern = "SCENARIOS_TEST_RUN"

// runPanics is an environment variable that gives its scenarios a controller that panics.
const runPanics = "SCENARIOS_TEST_PANICS"

func TestRunChild(t *testing.T) {
	pattern, ok := os.LookupEnv(runPattern)
	if !ok {
		t.Skip("run by TestRun")
	}
	var options []RunOption
	if os.Getenv(runPanics) != "" {
		var n atomic.Int32
		options = append(options, WithController(func(ctx context.Context, _ *rest.Config) error {
			func() { // as controller-runtime recovers from a panic of a Reconciler
				defer func() { _ = recover() }()
				defer utilruntime.HandleCrashWithContext(klog.NewContext(ctx, logr.Discard()))
				panic(fmt.Sprint("poison ", n.Add(1)))
			}()
			<-ctx.Done()
			return nil
		}))
	}
	Run(t, pattern, options...)
}

// A test that calls Run passes or fails as its scenarios do. It is a process of its
// own, since a test that fails cannot be part of one that passes.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := dir + "/" + name
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const ok = "scenario: It is well\nsteps:\n- get: {path: /healthz}\n  expect: ok\n"
	const bad = "scenario: It is ill\nsteps:\n- get: {path: /healthz}\n  expect: ill\n"
	reports := t.TempDir()
	tests := []struct {
		rule, pattern string
		passes        bool
		says          []string
	}{
		{"scenarios that pass", write("ok.yaml", ok), true,
			[]string{"--- PASS: TestRunChild/", "ok.yaml/It_is_well"}},
		{"one that fails", write("bad.yaml", ok+"---\n"+bad), false,
			[]string{"--- PASS: TestRunChild/", "--- FAIL: TestRunChild/", "bad.yaml/It_is_ill",
				"bad.yaml:8: step 1: get /healthz: unexpected answer (-want +got):", "- ill\n", "+ ok\n",
				"fakecluster: what happened in the cluster, the newest first (1 request, the last after ", "fakecluster: the report is in " + reports}},
		{"a mistake", write("mistake.yaml", "scenario: x\nsteps: []\n"), false,
			[]string{"mistake.yaml:1:1: a scenario needs steps"}},
		{"no match", dir + "/none*.yaml", false,
			[]string{"none*.yaml: no such file or folder"}},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRunChild$", "-test.v")
			child.Env = append(os.Environ(), runPattern+"="+test.pattern, "FAKECLUSTER_REPORT="+reports)
			output, err := child.CombinedOutput()
			if passes := err == nil; passes != test.passes {
				t.Errorf("passes: %v, want %v\n%s", passes, test.passes, output)
			}
			for _, want := range test.says {
				if !strings.Contains(string(output), want) {
					t.Errorf("the log has no %q\n%s", want, output)
				}
			}
		})
	}
	pages, err := filepath.Glob(reports + "/*.html")
	if err != nil || len(pages) != 1 {
		t.Fatal(pages, err)
	}
	page, err := os.ReadFile(pages[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := `bad.yaml:8: step 1: get /healthz: unexpected answer (-want +got):\n    - ill\n    + ok","n":1}`; !strings.Contains(string(page), want) {
		t.Errorf("the page does not contain %s", want)
	}
}

// A panic of a controller is in the log of its scenario, and not in those of others that are played at the same time.
func TestTheLogOfAScenarioHasThePanicsOfItsController(t *testing.T) {
	path := t.TempDir() + "/bad.yaml"
	const bad = "scenario: It fails %d\nsteps:\n- settle: {}\n- get: {path: /healthz}\n  expect: ill\n"
	if err := os.WriteFile(path, []byte(fmt.Sprintf(bad, 1)+"---\n"+fmt.Sprintf(bad, 2)), 0o644); err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRunChild$", "-test.v")
	child.Env = append(os.Environ(), runPattern+"="+path, runPanics+"=1")
	output, err := child.CombinedOutput()
	if err == nil {
		t.Error("the scenarios have passed")
	}
	for _, want := range []string{"a controller: poison 1 (", "a controller: poison 2 ("} {
		if n := strings.Count(string(output), want); n != 1 {
			t.Errorf("the log has %q %d times\n%s", want, n, output)
		}
	}
}
