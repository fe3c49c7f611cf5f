package main

import (
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// remoteList is the list that results on clusters of module remote are compared with.
var remoteList = verdict.List{
	Path: "remote.txt",
	Comment: `The tests of operators with older versions of controller-runtime, on clusters of the module remote, which a file that is
added to each suite starts: JobSet 0.6 has controller-runtime 0.18, 0.8 has 0.20, and 0.10 has 0.22;
Cluster API 1.13 has 0.23. The controller of JobSet 0.8 runs as on Kubernetes 1.34 with JobManagedBy=false: its suite completes Jobs
without what the validation of their status wants, which came with that gate.
Written by "go run ./operators -remote -update".`,
}

// older are operators with versions of controller-runtime that do not compile with the libraries of fakecluster.
var older = []operator{
	// 0.18.4
	{module: "sigs.k8s.io/jobset", version: "v0.6.0", label: "jobset-0.6", suites: []string{"test/integration/webhook"}},
	// 0.20.2
	{module: "sigs.k8s.io/jobset", version: "v0.8.2", label: "jobset-0.8", suites: []string{"test/integration/webhook"}},
	// The suite of its controller completes Jobs by a condition alone. Its Makefile runs it on Kubernetes 1.30; since 1.32 the status of a
	// Job is validated, unless the gate JobManagedBy is off, and since 1.35 it cannot be turned off.
	{
		module: "sigs.k8s.io/jobset", version: "v0.8.2", label: "jobset-0.8", suites: []string{"test/integration/controller"},
		env: []string{"FAKECLUSTER_KUBERNETES_VERSION=1.34", "FAKECLUSTER_FEATURE_GATES=JobManagedBy=false"},
	},
	// 0.22.1
	{module: "sigs.k8s.io/jobset", version: "v0.10.1", label: "jobset-0.10", suites: []string{"test/integration/controller", "test/integration/webhook"}},
	// 0.23.3
	{
		module: "sigs.k8s.io/cluster-api", version: "v1.13.6", label: "cluster-api-1.13",
		tests: []string{"controllers/crdmigrator", "internal/util/ssa", "internal/webhooks/test", "util/patch/test"},
	},
}

// startRemote is the file that is added to a suite. envtest uses the cluster instead of starting a control plane.
const startRemote = `package %s

import (
	"os"

	"github.com/fakecluster/fakecluster/remote"
)

func init() {
	c, err := remote.New()
	if err != nil {
		panic(err)
	}
	kubeconfig, err := c.Kubeconfig()
	if err == nil {
		err = os.WriteFile(os.Getenv("KUBECONFIG"), kubeconfig, 0o600)
	}
	if err != nil {
		panic(err)
	}
}
`

// runRemote is run with older operators, on clusters of module remote.
func runRemote(ctx context.Context, w io.Writer, match *regexp.Regexp) ([]verdict.Result, error) {
	work, err := os.MkdirTemp("", "fc-") // short enough for a socket
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, "fakecluster")
	// In its own module it has the versions of the libraries that it is released with.
	if _, err := gotool.Output(ctx, "..", "build", "-o", program, "./cmd/fakecluster"); err != nil {
		return nil, err
	}
	remote, err := filepath.Abs(filepath.Join("..", "remote"))
	if err != nil {
		return nil, err
	}
	return runOn(ctx, w, match, older, clusters{
		work: work,
		env: []string{
			"FAKECLUSTER=" + program, "XDG_CACHE_HOME=" + filepath.Join(work, "cache"),
			"USE_EXISTING_CLUSTER=true", "KUBECONFIG=" + filepath.Join(work, "kubeconfig"),
		},
		flags: func(module, folder string) ([]string, error) { return withRemote(ctx, work, remote, module, folder) },
	})
}

// withRemote returns the flags that add startRemote to the suite in a folder, and the module remote to its module, neither of
// which changes.
func withRemote(ctx context.Context, work, remote, module, folder string) ([]string, error) {
	name, err := packageOf(filepath.Join(module, folder))
	if err != nil {
		return nil, err
	}
	added := filepath.Join(work, "remote_test.go")
	if err := os.WriteFile(added, fmt.Appendf(nil, startRemote, name), 0o600); err != nil {
		return nil, err
	}
	overlay, err := gotool.Overlay(map[string]string{filepath.Join(module, folder, "aaa_remote_test.go"): added})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(work, "overlay.json"), overlay, 0o600); err != nil {
		return nil, err
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(module, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(work, file), content, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	const path = "github.com/fakecluster/fakecluster/remote"
	if _, err := gotool.Output(ctx, work, "mod", "edit", "-require="+path+"@v0.0.0", "-replace="+path+"="+remote, filepath.Join(work, "go.mod")); err != nil {
		return nil, err
	}
	return []string{"-modfile=" + filepath.Join(work, "go.mod"), "-overlay=" + filepath.Join(work, "overlay.json")}, nil
}

// packageOf returns the name of the package of the tests in a folder.
func packageOf(folder string) (string, error) {
	file := filepath.Join(folder, "suite_test.go")
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
	if err != nil {
		return "", fmt.Errorf("the suite of ginkgo's specs: %w", err)
	}
	return parsed.Name.Name, nil
}
