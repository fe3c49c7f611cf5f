package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/conformance/envtest"
	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/integration"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// list is the list that results are compared with, seen from the folder conformance.
var list = verdict.List{
	Path: "operators.txt",
	Comment: `The tests of operators that start envtest's control plane, unchanged, on the programs of fakecluster envtest: by
operator and package. Beneath one that fails stand its subtests that do not pass.
Written by "go run ./operators -update".`,
}

// operator is a module with tests that start envtest's control plane.
type operator struct {
	module, version string
	label           string   // what results call it; empty: the last element of the module's path
	tests           []string // folders with Go tests
	suites          []string // folders with a suite of ginkgo's specs
	parts           []string // of the repository that are modules of their own
	borrowed        []borrowed
	env             []string // what its tests need, besides the clusters
}

// borrowed is a folder that an operator's Makefile copies from a module that its go.mod names.
type borrowed struct{ to, module, from string }

// operators are the operators whose tests are run. Folders with many tests that never start a server are left
// out, and so is what needs more than Go modules.
var operators = []operator{
	{
		module: "sigs.k8s.io/cluster-api", version: "v1.14.2",
		parts: []string{"api"},
		tests: []string{
			"bootstrap/kubeadm/reconcilers/kubeadmconfig",
			"controllers/clustercache",
			"controllers/crdmigrator",
			"controlplane/kubeadm/reconcilers/kubeadmcontrolplane",
			"core/reconcilers/cluster",
			"core/reconcilers/clusterclass",
			"core/reconcilers/clusterresourceset",
			"core/reconcilers/extensionconfig",
			"core/reconcilers/machine",
			"core/reconcilers/machinedeployment",
			"core/reconcilers/machinehealthcheck",
			"core/reconcilers/machinepool",
			"core/reconcilers/machineset",
			"core/reconcilers/topology/cluster",
			"core/reconcilers/topology/cluster/structuredmerge",
			"core/webhooks/admission/test",
			"internal/util/ssa/test",
			"util/deprecated/v1beta1/patch",
			"util/patch/test",
		},
	},
	{
		module: "github.com/cert-manager/trust-manager", version: "v0.25.0",
		suites: []string{"test/integration/bundle", "test/integration/clusterbundle"},
	},
	{
		module: "github.com/kubeflow/training-operator", version: "v1.9.4",
		suites: []string{"pkg/controller.v1/jax", "pkg/controller.v1/mpi", "pkg/controller.v1/pytorch", "pkg/controller.v1/tensorflow"},
	},
	{
		module: "sigs.k8s.io/hierarchical-namespaces", version: "v1.1.0",
		suites: []string{"internal/anchor", "internal/hierarchyconfig", "internal/hncconfig", "internal/hrq", "internal/objects"},
	},
	{
		module: "sigs.k8s.io/jobset", version: "v0.10.1",
		suites: []string{"test/integration/controller", "test/integration/webhook"},
	},
	{
		module: "sigs.k8s.io/kueue", version: "v0.10.1",
		suites: []string{"test/integration/webhook/core"},
	},
	{
		module: "github.com/kubeflow/trainer/v2", version: "v2.0.0",
		suites: []string{"test/integration/webhooks"}, // a spec of the controller loses a race now and then
		borrowed: []borrowed{
			{"manifests/external-crds/jobset-operator", "sigs.k8s.io/jobset", "config/components/crd/bases"},
			{"manifests/external-crds/scheduler-plugins", "sigs.k8s.io/scheduler-plugins", "manifests/coscheduling"},
		},
	},
}

// timeout ends a folder's tests that hang.
const timeout = 15 * time.Minute

// run builds the programs and the tests, runs those of the folders whose names match, one folder after
// the other, and returns the results. A name is the last element of the module's path and the folder,
// such as cluster-api/core/reconcilers/machine. The progress is written to w.
func run(ctx context.Context, w io.Writer, match *regexp.Regexp) (results []verdict.Result, err error) {
	work, err := os.MkdirTemp("", "fakecluster-operators-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	assets, err := envtest.Assets(ctx, work)
	if err != nil {
		return nil, err
	}
	return runOn(ctx, w, match, operators, clusters{work: work, env: []string{"KUBEBUILDER_ASSETS=" + assets}})
}

// clusters are those that tests run on.
type clusters struct {
	work string   // a folder for what is built
	env  []string // what the tests get
	// flags returns flags of "go test" for a folder of an operator's module; nil: there are none.
	flags func(module, folder string) ([]string, error)
}

// runOn runs the tests of operators on clusters.
func runOn(ctx context.Context, w io.Writer, match *regexp.Regexp, operators []operator, on clusters) (results []verdict.Result, err error) {
	for _, o := range operators {
		for _, folder := range slices.Concat(o.tests, o.suites) {
			name := o.name(folder)
			if !match.MatchString(name) {
				continue
			}
			got, took, failed := o.run(ctx, folder, on)
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", name, failed))
			}
			results = append(results, got...)
			var clock time.Duration // in a bubble this is virtual time
			for _, result := range got {
				clock += result.Time
			}
			fmt.Fprintf(w, "%-70s %4d tests, %8v, %8v by their own clock\n", name, len(got), verdict.Round(took), verdict.Round(clock))
		}
	}
	return results, err
}

// matches returns which results are of the folders whose names match.
func matches(match *regexp.Regexp) func(result string) bool {
	return func(result string) bool {
		name, _, _ := strings.Cut(result, ": ")
		return match.MatchString(name)
	}
}

func (o operator) name(folder string) string {
	return cmp.Or(o.label, integration.Name(o.module)) + "/" + folder
}

// run builds the tests of a folder and runs them. It returns their results and how long they ran.
func (o operator) run(ctx context.Context, folder string, on clusters) (results []verdict.Result, took time.Duration, err error) {
	module, err := integration.CopyVersion(ctx, o.module, o.version, o.parts...)
	if err != nil {
		return nil, 0, err
	}
	for _, b := range o.borrowed {
		if err := b.copy(ctx, module); err != nil {
			return nil, 0, err
		}
	}
	dir, binary := filepath.Join(module, folder), filepath.Join(on.work, "operator.test")
	// Of a vendor folder a module's zip has the list alone, which the go command would go by without -mod.
	build := []string{"test", "-c", "-mod=mod", "-vet=off", "-ldflags=-s -w", "-o", binary}
	if on.flags != nil {
		flags, err := on.flags(module, folder)
		if err != nil {
			return nil, 0, err
		}
		build = append(build, flags...)
	}
	if _, err := gotool.Output(ctx, dir, append(build, ".")...); err != nil {
		return nil, 0, err
	}
	began := time.Now()
	results, err = o.test(ctx, folder, dir, binary, on)
	return results, time.Since(began), err
}

// test runs the tests of a folder, which binary has.
func (o operator) test(ctx context.Context, folder, dir, binary string, on clusters) ([]verdict.Result, error) {
	if slices.Contains(o.suites, folder) {
		return envtest.Suite{Name: o.name(folder), Dir: dir, Binary: binary, Timeout: timeout, Env: slices.Concat(on.env, o.env)}.Run(ctx, on.work)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-t", binary, "-test.v=test2json", "-test.timeout="+timeout.String())
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), []string{"GOWORK=off"}, on.env, o.env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	events, err := cmd.Output()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		return nil, err
	}
	results, err := integration.Results(bytes.NewReader(events), o.name(folder)+": ")
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, &stderr)
	}
	return results, err
}

// copy copies the folder into the copy of the operator's module, unless it is there.
func (b borrowed) copy(ctx context.Context, module string) error {
	to := filepath.Join(module, b.to)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	// A module that no package of the operator imports has a folder only once it is downloaded.
	if _, err := gotool.Output(ctx, module, "mod", "download", b.module); err != nil {
		return err
	}
	out, err := gotool.Output(ctx, module, "list", "-m", "-mod=mod", "-f", "{{.Dir}}", b.module)
	if err != nil {
		return err
	}
	from, unfinished := filepath.Join(strings.TrimSpace(string(out)), b.from), to+".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := os.CopyFS(unfinished, os.DirFS(from)); err != nil {
		return err
	}
	return os.Rename(unfinished, to)
}
