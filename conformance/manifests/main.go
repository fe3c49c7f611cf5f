// Command manifests installs what projects ship to be installed into a cluster, on fakecluster serve --workloads, from the folder
// conformance:
//
//	go run ./manifests                # all of them
//	go run ./manifests -run kueue     # those whose names match
//	go run ./manifests -update        # and write the results to manifests.txt
//
// The manifests come from the projects' Go modules. Of each one, all objects are created, all Deployments, StatefulSets, DaemonSets and Jobs
// become ready, an object as its users create it is created, and everything is deleted again. No program of the projects
// runs. The exit status is 1 if the results differ from manifests.txt.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"

	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// list is what the results are compared with, seen from the folder conformance.
var list = verdict.List{
	Path: "manifests.txt",
	Comment: `The manifests that projects ship in their Go modules, installed on fakecluster serve --workloads: module, what is installed, and, after "with", the
flags of serve without which not all Pods are ready or the object of the project's users is refused. Then the objects, the Pods when all
are ready, and the memory of the server. Written by "go run ./manifests -update"; how to read it: README.md.`,
}

func main() {
	run := flag.String("run", "", "install only the manifests whose names match this regular `expression`")
	update := flag.Bool("update", false, "write the results to the list")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, *run, *update); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, run string, update bool) error {
	match, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "fakecluster-manifests-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	server := filepath.Join(work, "fakecluster")
	if _, err := gotool.Output(ctx, "..", "build", "-o", server, "./cmd/fakecluster"); err != nil {
		return err
	}
	began := time.Now()
	var results []verdict.Result
	for _, p := range projects {
		if !match.MatchString(p.String()) {
			continue
		}
		result := p.check(ctx, server, filepath.Join(work, "kubeconfig"))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Printf("%-4s  %s  %s\n", result.Verdict, result.Name, result.Reason)
		results = append(results, result)
	}
	fmt.Println()
	checked := list
	checked.Update, checked.Match = update, match.MatchString
	err = checked.Check(os.Stdout, results)
	fmt.Println("took", verdict.Round(time.Since(began)))
	return err
}
