package integration

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// Suite is a tree of integration tests in a module of upstream's.
type Suite struct {
	// Name names the folder in the user's cache where the suite is built.
	Name string
	// Modules are copied so that files of theirs can be changed. The tests are the first
	// one's.
	Modules []string
	// Changes make the tests' servers fakeclusters.
	Changes []Change
	// Root is the folder in the module where the tests are.
	Root string
	// Folders are the packages beneath it. A test is named by its function, and by its
	// folder too if that is not ".": conversion/TestWebhookConverter.
	Folders []string
	// Stamps are string variables of the test binary that the linker sets, as a release is
	// built: the package and the name, and the value.
	Stamps map[string]string
	// Timeout ends a test that hangs. Patient are tests that wait longer than that when all
	// is well, and what ends these.
	Timeout time.Duration
	Patient map[string]time.Duration
	// Beyond are tests of what fakecluster is not to have, with the reason. Their fixtures cannot
	// know it.
	Beyond map[string]string
}

// Run runs the tests whose names match and returns their results by name: one for each
// test function, and beneath one that failed one for each of its subtests that did not
// pass. A package's tests run while the next one is built.
func (s Suite) Run(ctx context.Context, match *regexp.Regexp) ([]verdict.Result, error) {
	w, err := s.prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tests := make(chan test)
	var built error
	go func() {
		defer close(tests)
		for _, folder := range s.Folders {
			found, err := s.build(ctx, w, folder)
			if err != nil {
				built = fmt.Errorf("building the tests in %s: %w", folder, err)
				return
			}
			for _, t := range found {
				if match.MatchString(t.String()) {
					tests <- t
				}
			}
		}
	}()
	results, err := runAll(ctx, tests)
	results = beyond(results, s.Beyond)
	slices.SortFunc(results, func(a, b verdict.Result) int { return cmp.Compare(a.Name, b.Name) })
	return results, cmp.Or(built, err)
}

// beyond makes tests that fail not applicable for their reasons. Their subtests are left out.
func beyond(results []verdict.Result, reasons map[string]string) []verdict.Result {
	var compared []verdict.Result
	for _, r := range results {
		reason := reasons[Function(r.Name)]
		switch {
		case r.Verdict == verdict.Pass || reason == "":
		case Function(r.Name) != r.Name:
			continue
		case r.Verdict == verdict.Fail:
			r.Verdict, r.Reason = verdict.NotApplicable, reason
		}
		compared = append(compared, r)
	}
	return compared
}

// test is a test function in a test binary.
type test struct {
	folder  string // of the suite's folders
	dir     string // where it expects to be run, beside its files
	binary  string
	name    string
	timeout time.Duration
}

func (t test) String() string {
	if t.folder == "." {
		return t.name
	}
	return t.folder + "/" + t.name
}

// Function returns the test, as it is named in a list, that a result belongs to: the
// result of conversion/TestA/subtest belongs to conversion/TestA.
func Function(result string) string {
	start := strings.Index(result, "Test")
	if end := strings.Index(result[start:], "/"); end >= 0 {
		return result[:start+end]
	}
	return result
}

// build builds the test binary of a folder and returns the tests in it.
func (s Suite) build(ctx context.Context, w *work, folder string) ([]test, error) {
	dir := filepath.Join(w.copies[s.Modules[0]], s.Root, folder)
	// The binary has the name that the go command gives it: the user agent of the tests'
	// clients begins with it, and one test looks for that.
	binary := filepath.Join(w.dir, "bin", folder, filepath.Base(dir)+".test")
	link := "-s -w" // a third of the size and of the time
	for _, name := range slices.Sorted(maps.Keys(s.Stamps)) {
		link += " -X " + name + "=" + s.Stamps[name]
	}
	if _, err := gotool.Output(ctx, w.dir, "test", "-c", "-vet=off", "-mod=mod", "-overlay="+w.overlay,
		"-ldflags="+link, "-o", binary, path.Join(s.Modules[0], s.Root, folder)); err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); os.IsNotExist(err) {
		return nil, nil // there are no tests in the folder
	}
	if err := makeScriptsExecutable(filepath.Join(dir, "testdata")); err != nil {
		return nil, err
	}
	out, err := command(ctx, dir, binary, "-test.list", "^Test").Output()
	if err != nil {
		return nil, fmt.Errorf("listing them: %w", err)
	}
	var tests []test
	for _, name := range strings.Fields(string(out)) {
		t := test{folder: folder, dir: dir, binary: binary, name: name}
		t.timeout = cmp.Or(s.Patient[t.String()], s.Timeout)
		tests = append(tests, t)
	}
	return tests, nil
}

// makeScriptsExecutable gives scripts back the right to be executed, which the module cache does
// not keep.
func makeScriptsExecutable(dir string) error {
	scripts, err := filepath.Glob(filepath.Join(dir, "*.sh"))
	for _, script := range scripts {
		if strings.Contains(script, "not-executable") { // as one is called that must not have it
			continue
		}
		if err := os.Chmod(script, 0o755); err != nil {
			return err
		}
	}
	return err
}

// runAll runs tests, two for each core: most of them wait most of the time.
func runAll(ctx context.Context, tests <-chan test) ([]verdict.Result, error) {
	var (
		mu      sync.Mutex
		results []verdict.Result
		failed  error
		wg      sync.WaitGroup
	)
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for t := range tests {
				got, err := t.run(ctx)
				mu.Lock()
				results = append(results, got...)
				failed = cmp.Or(failed, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return results, failed
}
