// Command conformance runs suites and clients that were not written here against
// fakecluster. From this folder:
//
//	go run .                               # all parts, of Kubernetes' tests the fast folders
//	go run . -only kubectl,operator        # some
//	go run . -only helm -sections upgrade  # of the sessions of kubectl, helm and chainsaw, the sections with such a name
//	go run . -update                       # and write the results to the lists
//	go run . -only kubectl,helm -real      # their sessions, on a real kube-apiserver
//
// Each part prints a table of its results and how long it took. The exit status is 1
// if the results of a part differ from its checked-in list, in either direction.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/conformance/chainsaw"
	e2e "github.com/fakecluster/fakecluster/conformance/e2e/suite"
	"github.com/fakecluster/fakecluster/conformance/envtest"
	"github.com/fakecluster/fakecluster/conformance/helm"
	"github.com/fakecluster/fakecluster/conformance/kubectl"
	kubernetes "github.com/fakecluster/fakecluster/conformance/kubernetes/suite"
	"github.com/fakecluster/fakecluster/conformance/operator"
	"github.com/fakecluster/fakecluster/conformance/portable"
	"github.com/fakecluster/fakecluster/conformance/real/controlplane"
	"github.com/fakecluster/fakecluster/conformance/realcrds"
	crds "github.com/fakecluster/fakecluster/conformance/upstream/suite"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// part is a suite or a client.
type part struct {
	name    string
	list    verdict.List
	run     func(ctx context.Context, w io.Writer) ([]verdict.Result, error)
	session func() kubectl.Session // in place of run, for a part that plays one
}

var parts = []part{
	{name: "upstream", list: crds.List, run: func(ctx context.Context, _ io.Writer) ([]verdict.Result, error) {
		return crds.Suite.Run(ctx, regexp.MustCompile(""))
	}},
	{name: "kubernetes", list: fastList(), run: func(ctx context.Context, _ io.Writer) ([]verdict.Result, error) {
		return kubernetes.Fast.Run(ctx, regexp.MustCompile(""))
	}},
	{name: "e2e", list: e2e.List, run: func(ctx context.Context, _ io.Writer) ([]verdict.Result, error) {
		return e2e.Run(ctx, e2e.Options{})
	}},
	{name: "realcrds", list: realcrds.List, run: realcrds.Run},
	{name: "kubectl", list: kubectl.List, session: kubectl.Whole},
	{name: "helm", list: helm.List, session: helm.Whole},
	{name: "chainsaw", list: chainsaw.List, session: chainsaw.Whole},
	{name: "operator", list: operator.List, run: func(ctx context.Context, _ io.Writer) ([]verdict.Result, error) {
		return operator.Run(ctx)
	}},
	{name: "portable", list: portable.List, run: func(ctx context.Context, w io.Writer) ([]verdict.Result, error) {
		return portable.Run(ctx, w, "../scenarios", "real/modules")
	}},
	{name: "envtest", list: envtest.List, run: func(ctx context.Context, _ io.Writer) ([]verdict.Result, error) {
		return envtest.Run(ctx)
	}},
}

// fastList is what the list has of the fast folders of Kubernetes' tests.
func fastList() verdict.List {
	list := kubernetes.List
	list.Match = kubernetes.Fast.Has
	return list
}

func main() {
	only := flag.String("only", "", "run only these parts, separated by commas")
	sections := flag.String("sections", "", "of the sessions of kubectl, helm and chainsaw, play only sections whose names match this regular `expression`")
	update := flag.Bool("update", false, "write the results to the lists instead of comparing them")
	onReal := flag.Bool("real", false, "play the sessions of kubectl and helm on a real kube-apiserver: whatever they say has to be what that makes them print")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	names, err := regexp.Compile(*sections)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance: -sections:", err)
		os.Exit(2)
	}
	run := func() error { return runParts(ctx, os.Stdout, *only, names, *update) }
	switch {
	case *onReal && *update:
		run = func() error {
			return errors.New("-real only compares: it writes no lists, so it cannot be had with -update")
		}
	case *onReal:
		run = func() error { return runReal(ctx, os.Stdout, *only, names) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// runParts runs the parts that are selected, all of them if none is, one after the
// other: each uses all cores.
func runParts(ctx context.Context, w io.Writer, only string, sections *regexp.Regexp, update bool) error {
	chosen := parts
	if only != "" {
		chosen = nil
		for name := range strings.SplitSeq(only, ",") {
			i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
			if i < 0 {
				return fmt.Errorf("there is no part %q", name)
			}
			chosen = append(chosen, parts[i])
		}
	}
	var failed error
	var times strings.Builder
	for _, p := range chosen {
		fmt.Fprintf(w, "== %s\n\n", p.name)
		started := time.Now()
		outcome := "as listed"
		if update {
			outcome = "written"
		}
		if err := p.check(ctx, w, sections, update); err != nil {
			outcome = "FAILED"
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.name, err))
		}
		fmt.Fprintf(&times, "%-10s %8v  %s\n", p.name, verdict.Round(time.Since(started)), outcome)
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, times.String())
	return failed
}

// check runs the part and compares its results with its list: if it plays a session, only the sections that match.
func (p part) check(ctx context.Context, w io.Writer, sections *regexp.Regexp, update bool) error {
	list := p.list
	list.Update = update
	var results []verdict.Result
	var err error
	if p.session != nil {
		list.Match = func(name string) bool { return kubectl.SectionMatches(sections, name) }
		results, err = p.session().Run(ctx, w, sections, update)
	} else {
		results, err = p.run(ctx, w)
	}
	if err != nil {
		return err
	}
	return list.Check(w, results)
}

// runReal plays sessions on a real control plane. There is no list of what fails there: the sessions
// have to be right.
func runReal(ctx context.Context, w io.Writer, only string, sections *regexp.Regexp) error {
	sessions := map[string]kubectl.Session{"kubectl": kubectl.Whole(), "helm": helm.Whole()}
	if only == "" {
		only = "kubectl,helm"
	}
	programs, err := controlplane.ProgramsFolder(ctx, "real/modules")
	if err != nil {
		return err
	}
	failed := 0
	for name := range strings.SplitSeq(only, ",") {
		session, ok := sessions[name]
		if !ok {
			return fmt.Errorf("%q has no session that could be played on a real server", name)
		}
		session.Real = programs
		results, err := session.Run(ctx, w, sections, false)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Verdict != verdict.Pass {
				fmt.Fprintf(w, "%s  %s: %s  # %s\n", r.Verdict, name, r.Name, r.Reason)
			}
			if r.Verdict == verdict.Fail {
				failed++
			}
		}
		fmt.Fprintf(w, "%s: %d results\n", name, len(results))
	}
	if failed > 0 {
		return fmt.Errorf("the real server makes %d commands print something else", failed)
	}
	return nil
}
