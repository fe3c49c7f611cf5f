// Package suite runs specs of Kubernetes' own e2e suite against living clusters: those of conformance, and those beyond.
//
// The suite is built as it is published, as the test of k8s.io/kubernetes/test/e2e in the versions of
// ../modules/go.mod, and runs with the provider skeleton. Its clusters have two Nodes, and the images of package images
// (../cluster).
package suite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fakecluster/fakecluster/conformance/cache"
	"github.com/fakecluster/fakecluster/conformance/envtest"
	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/real/programs"
	"github.com/fakecluster/fakecluster/conformance/serve"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

const (
	pkg     = "k8s.io/kubernetes/test/e2e"
	modules = "e2e/modules"
)

// timeout ends a process of specs that hang.
const timeout = 30 * time.Minute

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "e2e.txt",
	Comment: `The conformance specs of Kubernetes' e2e suite against living clusters, whose images are Go functions.
Written by "go run ./e2e -full -update"; how to read it: README.md.`,
	Match: func(spec string) bool { return !isSlow(spec) },
}

// BeyondList is the list of the specs beyond conformance.
var BeyondList = verdict.List{
	Path: "e2e-beyond.txt",
	Comment: `The specs of Kubernetes' e2e suite beyond conformance that are not slow, serial, disruptive or behind a feature gate, and
that need no cloud, no real kernel and no CSI driver (suite/specs.go), against living clusters.
Written by "go run ./e2e -beyond -update"; how to read it: README.md.`,
}

// Options say which specs are run.
type Options struct {
	// Beyond runs the specs beyond conformance instead of those of conformance.
	Beyond bool
	// Match is of their names; nil: all.
	Match *regexp.Regexp
	// Full also runs those that are slow.
	Full bool
}

// Run runs specs and returns their results, by name. Without Full, those that are slow have no result.
func Run(ctx context.Context, o Options) ([]verdict.Result, error) {
	binary, err := build(ctx)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "fakecluster-e2e-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	r := runner{suite: binary, server: filepath.Join(work, "cluster"), work: work, selection: conformance}
	if o.Beyond {
		r.selection = beyond
	}
	if _, err := gotool.Output(ctx, ".", "build", "-o", r.server, "./e2e/cluster"); err != nil {
		return nil, err
	}
	r.kubectl = filepath.Join(work, "kubectl")
	if _, err := gotool.Output(ctx, ".", "build", "-o", r.kubectl, "./cmd/kubectl"); err != nil {
		return nil, err
	}
	specs, err := r.specs(ctx)
	if err != nil {
		return nil, err
	}
	if o.Match != nil {
		specs = slices.DeleteFunc(specs, func(spec string) bool { return !o.Match.MatchString(spec) })
	}
	if !o.Full {
		specs = slices.DeleteFunc(specs, isSlow)
	}
	results, err := r.runAll(ctx, specs)
	slices.SortFunc(results, func(a, b verdict.Result) int { return strings.Compare(a.Name, b.Name) })
	return results, err
}

// build returns the test binary of the suite, which is built once for each version.
func build(ctx context.Context) (string, error) {
	out, err := gotool.Output(ctx, modules, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return "", err
	}
	version := strings.TrimSpace(string(out))
	return cache.Program("e2e-of-kubernetes-"+version+".test", func(path string) error {
		_, err := gotool.Output(ctx, modules, "test", "-c", "-vet=off", "-ldflags="+programs.LinkerFlags(version), "-o", path, pkg)
		return err
	})
}

// runner runs the suite.
type runner struct {
	suite, server, kubectl string // the programs
	work                   string // a folder
	selection              selection
}

// specs returns the names of the specs.
func (r runner) specs(ctx context.Context) ([]string, error) {
	report := filepath.Join(r.work, "specs.json")
	results, err := r.ginkgo(ctx, report, "/dev/null", "-ginkgo.dry-run", "-ginkgo.focus="+r.selection.focus, "-ginkgo.skip="+r.selection.skip)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, result := range results {
		if result.Verdict == verdict.Pass && !repeated.MatchString(result.Name) { // the others are not in focus
			names = append(names, result.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no specs that match %s", pkg, r.selection.focus)
	}
	slices.Sort(names)
	return names, nil
}

// repeated matches the second spec of a name, which cannot be run alone.
var repeated = regexp.MustCompile(` \(\d+\)$`)

// runAll runs specs in groups, each in a process and a cluster of its own, several groups for each core: most
// specs wait most of the time. Those that are expected to take minutes are alone.
func (r runner) runAll(ctx context.Context, specs []string) ([]verdict.Result, error) {
	var groups [][]string
	var quick []string
	for _, spec := range specs {
		if isSlow(spec) {
			groups = append(groups, []string{spec})
		} else {
			quick = append(quick, spec)
		}
	}
	groups = slices.AppendSeq(groups, slices.Chunk(quick, r.selection.specsOfGroup))
	var mu sync.Mutex
	var found []verdict.Result
	running, ctx := errgroup.WithContext(ctx)
	running.SetLimit(4 * runtime.GOMAXPROCS(0))
	for n, group := range groups {
		running.Go(func() error {
			results, err := r.runGroup(ctx, n, group)
			mu.Lock()
			defer mu.Unlock()
			found = append(found, results...)
			return err
		})
	}
	return found, running.Wait()
}

// runGroup runs specs one after the other, in a cluster.
func (r runner) runGroup(ctx context.Context, n int, specs []string) ([]verdict.Result, error) {
	dir := filepath.Join(r.work, fmt.Sprint(n))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	_, end, err := serve.Start(ctx, r.server, "-kubeconfig", kubeconfig)
	if err != nil {
		return nil, err
	}
	defer func() { _ = end() }() // what it says is on stderr
	var args []string
	for _, spec := range specs {
		args = append(args, "-ginkgo.focus= ?"+regexp.QuoteMeta(spec)+"$")
	}
	results, err := r.ginkgo(ctx, filepath.Join(dir, "report.json"), kubeconfig, args...)
	if err != nil && ctx.Err() == nil {
		if len(specs) > 1 {
			return r.runAlone(ctx, n, specs)
		}
		_, why, _ := strings.Cut(err.Error(), "\npanic: ")
		return []verdict.Result{{Name: specs[0], Verdict: verdict.Fail, Reason: verdict.Reason("the suite has ended: " + why)}}, nil
	}
	if err != nil {
		return nil, err
	}
	results = slices.DeleteFunc(results, func(result verdict.Result) bool { return !slices.Contains(specs, result.Name) })
	if len(results) != len(specs) {
		return nil, fmt.Errorf("%d of the specs did not run; the first one is %s", len(specs)-len(results), specs[0])
	}
	return results, nil
}

// runAlone runs the specs of a group one by one, each in a cluster of its own: one of them has ended the process of the suite.
func (r runner) runAlone(ctx context.Context, n int, specs []string) (results []verdict.Result, err error) {
	r.work = filepath.Join(r.work, fmt.Sprint(n))
	for i, spec := range specs {
		alone, err := r.runGroup(ctx, i, []string{spec})
		if err != nil {
			return nil, err
		}
		results = append(results, alone...)
	}
	return results, nil
}

// ginkgo runs the suite with further flags, and returns the results of all its specs.
func (r runner) ginkgo(ctx context.Context, report, kubeconfig string, flags ...string) ([]verdict.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.suite, append([]string{
		"-provider=skeleton", "-kubeconfig=" + kubeconfig, "-kubectl-path=" + r.kubectl, "-delete-namespace-on-failure=true", "-dump-logs-on-failure=false",
		"-ginkgo.json-report=" + report, "-ginkgo.no-color", "-ginkgo.seed=1", "-ginkgo.succinct", "-ginkgo.timeout=" + timeout.String(),
	}, flags...)...)
	cmd.Dir = r.work
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	runErr := cmd.Run()
	content, err := os.ReadFile(report)
	if err != nil {
		return nil, fmt.Errorf("the e2e suite wrote no report (%v, %w); it printed\n%s", runErr, err, &output)
	}
	return envtest.Specs(content)
}
