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
	env := []string{"USE_EXISTING_CLUSTER=true", "KUBECONFIG=" + filepath.Join(work, "kubeconfig")}
	return runWithRemote(ctx, w, match, older, work, env, startingRemote)
}

// startingRemote returns the file that is added to a suite, so that it starts a cluster of module remote.
func startingRemote(suite string) (map[string]string, error) {
	name, err := packageOf(suite)
	if err != nil {
		return nil, err
	}
	return map[string]string{"aaa_remote_test.go": fmt.Sprintf(startRemote, name)}, nil
}

// runWithRemote runs the suites of operators, which may import module remote. work is a folder for what is built, env is what the suites get, and
// fixtures returns the content of files, by their names, that take the place of those of a suite, which may not exist.
func runWithRemote(
	ctx context.Context, w io.Writer, match *regexp.Regexp, operators []operator, work string, env []string, fixtures func(suite string) (map[string]string, error),
) ([]verdict.Result, error) {
	program := filepath.Join(work, "fakecluster")
	// In its own module it has the versions of the libraries that it is released with.
	if _, err := gotool.Output(ctx, "..", "build", "-o", program, "./cmd/fakecluster"); err != nil {
		return nil, err
	}
	remote, err := filepath.Abs(filepath.Join("..", "remote"))
	if err != nil {
		return nil, err
	}
	return runOn(ctx, w, match, operators, clusters{
		work: work,
		env:  append(env, "FAKECLUSTER="+program, "XDG_CACHE_HOME="+filepath.Join(work, "cache")),
		flags: func(module, folder string) ([]string, error) {
			files, err := fixtures(filepath.Join(module, folder))
			if err != nil {
				return nil, err
			}
			return withRemote(ctx, work, remote, module, folder, files)
		},
	})
}

// withRemote returns the flags that add files to the suite in a folder, by their names, and the module remote to its module. Neither of them
// changes.
func withRemote(ctx context.Context, work, remote, module, folder string, files map[string]string) ([]string, error) {
	replaced := map[string]string{}
	for name, content := range files {
		file := filepath.Join(work, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return nil, err
		}
		replaced[filepath.Join(module, folder, name)] = file
	}
	overlay, err := gotool.Overlay(replaced)
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

// suiteFile is the file in which a suite of ginkgo's specs begins.
const suiteFile = "suite_test.go"

// packageOf returns the name of the package of the suite in a folder.
func packageOf(folder string) (string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, suiteFile), nil, parser.PackageClauseOnly)
	if err != nil {
		return "", fmt.Errorf("the suite of ginkgo's specs: %w", err)
	}
	return parsed.Name.Name, nil
}
