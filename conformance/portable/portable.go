// Package portable plays fakecluster's own scenarios against a real API server, by the flag that
// anybody can give: fakecluster run --kubeconfig FILE. What they expect of fakecluster has to be what
// the real server answers.
package portable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fakecluster/fakecluster/conformance/verdict"
	"github.com/fakecluster/fakecluster/scenarios"
)

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "portable.txt",
	Comment: `What the scenarios of fakecluster answer on a bare API server, started by envtest from the programs in
KUBEBUILDER_ASSETS: kube-apiserver and etcd, and no controllers. "fail" is what differs there from a
cluster of a scenario's own, "n/a" what cannot be played on a cluster that runs already.
No real programs could be had where this list was written: the programs were those of fakecluster
envtest, so that the failures are what follows from having no controllers. On a real server any other
failure is a difference of fakecluster's. Written by "go run . -only portable -update".`,
}

// ErrSkipped says that nothing was played, and why.
var ErrSkipped = errors.New("skipped")

// assets is the variable that names the folder of the programs.
const assets = "KUBEBUILDER_ASSETS"

// Run starts the programs and plays the scenarios in a folder.
func Run(ctx context.Context, w io.Writer, folder string) (results []verdict.Result, err error) {
	dir := os.Getenv(assets)
	if dir == "" {
		return nil, fmt.Errorf("%w: %s names no folder with kube-apiserver and etcd; to play the scenarios against a real API server, "+
			"set it, for example with setup-envtest", ErrSkipped, assets)
	}
	for _, program := range []string{"kube-apiserver", "etcd"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			return nil, fmt.Errorf("%w: %s: %v", ErrSkipped, assets, err)
		}
	}
	crlog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	environment := &envtest.Environment{BinaryAssetsDirectory: dir}
	cfg, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("starting the programs in %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	fmt.Fprintf(w, "the programs in %s serve %s\n", dir, cfg.Host)
	return play(ctx, cfg, folder)
}

// play plays the scenarios in a folder on a cluster.
func play(ctx context.Context, cfg *rest.Config, folder string) ([]verdict.Result, error) {
	all, err := scenarios.Load(folder)
	if err != nil {
		return nil, err
	}
	var results []verdict.Result
	scenarios.Player{Start: scenarios.External(cfg), External: true}.PlayAll(ctx, all, func(r scenarios.Result) {
		file, err := filepath.Rel(folder, r.Scenario.File)
		if err != nil {
			file = r.Scenario.File
		}
		result := verdict.Result{Name: filepath.ToSlash(file) + ": " + r.Scenario.Title(), Verdict: verdict.Pass, Time: r.Elapsed}
		switch {
		case r.Failure != nil:
			result.Verdict, result.Reason = verdict.Fail, verdict.Reason(r.Failure.Step+": "+r.Failure.Verb+" "+r.Failure.Object+": "+r.Failure.Message)
		case r.Skipped != "":
			result.Verdict, result.Reason = verdict.NotApplicable, r.Skipped
		}
		results = append(results, result)
	})
	return results, ctx.Err()
}
