// Package portable plays fakecluster's own scenarios against a real API server, by the flag that
// anybody can give: fakecluster run --kubeconfig FILE. What they expect of fakecluster has to be what
// the real server answers.
package portable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/conformance/real/controlplane"
	"github.com/fakecluster/fakecluster/conformance/verdict"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/remote"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "portable.txt",
	Comment: `What the scenarios of fakecluster answer on the real kube-apiserver and etcd, with those controllers of the real
kube-controller-manager that act in a fakecluster by default. "fail" is what differs there, "n/a" what cannot be
played on a cluster that runs already. The programs are built from Kubernetes' and etcd's published modules.
Written by "go run . -only portable -update".
What failed beside all others was played once more beside those that failed.
Each that can be played passes. Some need time, for the policies, quotas and migrations of a real server learn
of new kinds every 30 seconds.`,
}

// Run starts the programs and plays the scenarios in a folder. It builds the programs if KUBEBUILDER_ASSETS
// names no folder with them; modules is the folder of the module that says in which versions.
func Run(ctx context.Context, w io.Writer, folder, modules string) (results []verdict.Result, err error) {
	dir, err := controlplane.ProgramsFolder(ctx, modules)
	if err != nil {
		return nil, err
	}
	s, err := controlplane.Start(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	fmt.Fprintf(w, "the programs in %s serve %s\n", dir, s.RESTConfig().Host)
	return play(ctx, s.RESTConfig(), folder)
}

// grace is how long a real server may take with what follows a write: its policies, quotas and migrations
// learn of new kinds every 30 seconds, and a migration waits a minute and more for a kind that it does not
// know.
const grace = 100 * time.Second

// atOnce is how many scenarios are played at the same time: most of their time is waiting.
const atOnce = 4

// play plays the scenarios in a folder on a cluster.
func play(ctx context.Context, cfg *rest.Config, folder string) ([]verdict.Result, error) {
	scenarios, err := syntax.Load(folder)
	if err != nil {
		return nil, err
	}
	with := player.Player{Start: remote.NewStarter(cfg, remote.AllowClusterChanges()), Remote: true, Grace: grace, Parallel: atOnce}
	var played []player.Result
	with.PlayAll(ctx, scenarios, func(r player.Result) { played = append(played, r) })
	// What has failed beside all others is played once more: a real server does late what a scenario sees if
	// many of them keep it busy.
	var again []*syntax.Scenario
	var indices []int
	for i, r := range played {
		if r.Failure != nil {
			again, indices = append(again, r.Scenario), append(indices, i)
		}
	}
	next := 0
	with.PlayAll(ctx, again, func(r player.Result) {
		played[indices[next]] = r
		next++
	})
	var results []verdict.Result
	for _, r := range played {
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
	}
	return results, ctx.Err()
}
