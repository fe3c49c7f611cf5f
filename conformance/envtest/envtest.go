package envtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/integration"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "envtest.txt",
	Comment: `The specs of suites that start envtest's control plane, on the programs of fakecluster envtest:
controller-runtime's own, by package, and those of the project in envtest/testdata.
Written by "go run . -only envtest -update".`,
}

// controllerRuntime has suites of its own for these packages.
const controllerRuntime = "sigs.k8s.io/controller-runtime"

var packages = []string{"cache", "manager", "client", "envtest", "webhook", "source", "builder", "controller", "handler"}

// Suite is a test binary with a suite of ginkgo's specs.
type Suite struct {
	Name, Dir, Binary string
	Timeout           time.Duration // ends a suite that hangs
	Env               []string      // what it gets, such as KUBEBUILDER_ASSETS
}

// timeout is that of the suites here.
const timeout = 5 * time.Minute

// Run builds the programs and the suites, runs the suites, and returns the results of their specs.
// A suite runs while the next one is built.
func Run(ctx context.Context) ([]verdict.Result, error) {
	work, err := os.MkdirTemp("", "fakecluster-envtest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	assets, err := Assets(ctx, work)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	suites := make(chan Suite)
	var built error
	go func() {
		defer close(suites)
		built = buildAll(ctx, work, assets, suites)
	}()
	var (
		mu      sync.Mutex
		byName  = map[string][]verdict.Result{}
		failed  error
		running sync.WaitGroup
	)
	for range 2 { // they wait most of the time
		running.Go(func() {
			for s := range suites {
				results, err := s.Run(ctx, work)
				mu.Lock()
				byName[s.Name], failed = results, errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	var results []verdict.Result
	for _, name := range append([]string{"project"}, packages...) {
		results = append(results, byName[name]...)
	}
	return results, errors.Join(built, failed)
}

// Assets builds the command, and returns the folder that "fakecluster envtest" prints with the flags. work is a folder
// for both.
func Assets(ctx context.Context, work string, flags ...string) (string, error) {
	program := filepath.Join(work, "fakecluster")
	// In its own module it has the versions of the libraries that it is released with.
	if _, err := gotool.Output(ctx, "..", "build", "-o", program, "./cmd/fakecluster"); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"envtest"}, flags...)...)
	cache := filepath.Join(work, "cache")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "HOME="+cache)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("fakecluster envtest: %w\n%s", err, &stderr)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// buildAll builds the suites, the slowest first, except that the project, which shows the most, comes before them.
func buildAll(ctx context.Context, work, assets string, suites chan<- Suite) error {
	here, err := filepath.Abs("envtest/testdata/project")
	if err != nil {
		return err
	}
	build := func(name, dir, binary string) error {
		if _, err := gotool.Output(ctx, dir, "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary, "."); err != nil {
			return fmt.Errorf("building the suite %s: %w", name, err)
		}
		select {
		case suites <- Suite{name, dir, binary, timeout, []string{"KUBEBUILDER_ASSETS=" + assets}}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := build("project", here, filepath.Join(work, "project.test")); err != nil {
		return err
	}
	module, err := integration.Copy(ctx, controllerRuntime)
	if err != nil {
		return err
	}
	for _, name := range packages {
		// Beside the copy they stay from run to run, and are not linked again.
		if err := build(name, filepath.Join(module, "pkg", name), filepath.Join(module+"-tests", name+".test")); err != nil {
			return err
		}
	}
	return nil
}

// Run runs the suite and returns the results of its specs. work is a folder for what it reports.
func (s Suite) Run(ctx context.Context, work string) ([]verdict.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout+10*time.Second)
	defer cancel()
	report := filepath.Join(work, strings.ReplaceAll(s.Name, "/", "-")+".json")
	cmd := exec.CommandContext(ctx, s.Binary, "-test.timeout="+s.Timeout.String(), "-ginkgo.json-report="+report, "-ginkgo.no-color", "-ginkgo.seed=1")
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	output, err := cmd.CombinedOutput()
	content, readErr := os.ReadFile(report)
	if readErr != nil {
		return nil, fmt.Errorf("the suite %s wrote no report (%w); it printed\n%s", s.Name, errors.Join(err, readErr), output)
	}
	results, reportErr := Specs(content)
	if reportErr != nil {
		return nil, fmt.Errorf("the report of %s: %w", s.Name, reportErr)
	}
	failed := func(r verdict.Result) bool { return r.Verdict == verdict.Fail }
	if err != nil && !slices.ContainsFunc(results, failed) {
		return nil, fmt.Errorf("no spec of %s fails, and its program ends with %w; it printed\n%s", s.Name, err, output)
	}
	for i := range results {
		results[i].Name = s.Name + ": " + results[i].Name
	}
	return results, nil
}

// spec is what ginkgo's report says of one.
type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	RunTime                 time.Duration
	Failure                 struct{ Message string }
}

// Specs reads ginkgo's report of a suite, and returns the results of its specs. Set-up and tear-down are results
// if they fail.
func Specs(report []byte) ([]verdict.Result, error) {
	var runs []struct{ SpecReports []spec }
	if err := json.Unmarshal(report, &runs); err != nil {
		return nil, err
	}
	var results []verdict.Result
	times := map[string]int{}
	for _, run := range runs {
		for _, spec := range run.SpecReports {
			result := verdict.Result{Name: spec.name(), Verdict: verdict.Fail, Reason: verdict.Reason(spec.Failure.Message), Time: spec.RunTime}
			switch spec.State {
			case "passed":
				result.Verdict, result.Reason = verdict.Pass, ""
			case "pending", "skipped":
				result.Verdict, result.Reason = verdict.NotApplicable, spec.State+" by the suite"
				if spec.Failure.Message != "" {
					result.Reason += ": " + verdict.Reason(spec.Failure.Message)
				}
			}
			if spec.LeafNodeType != "It" && result.Verdict != verdict.Fail {
				continue
			}
			if times[result.Name]++; times[result.Name] > 1 {
				result.Name += fmt.Sprintf(" (%d)", times[result.Name])
			}
			results = append(results, result)
		}
	}
	return results, nil
}

// name returns what the spec and what it is part of are called.
func (s spec) name() string {
	var words []string
	for _, text := range append(s.ContainerHierarchyTexts, s.LeafNodeText) {
		words = append(words, strings.Fields(text)...)
	}
	if len(words) == 0 {
		return s.LeafNodeType
	}
	return strings.ReplaceAll(strings.Join(words, " "), "#", "no.")
}
