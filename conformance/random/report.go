package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/fakecluster/fakecluster/conformance/random/play"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// listPath is the list of the histories that differ, of the last run with -update.
const listPath = "random.txt"

// listComment stands at its head, before what was played.
const listComment = `The random histories of which fakecluster answered a request in another way than a real kube-apiserver 1.37.1, with
the reason if one is known. "go run ./random -update" writes this, with the other flags of the run, which was:
`

// shrinkAttempts is how often a history is played again to make it shorter.
const shrinkAttempts = 250

// cause is what several histories differ in.
type cause struct {
	signature, reason string
	results           []result
}

// causes returns the differences by their signatures, the most frequent first.
func causes(results []result) []*cause {
	byName := map[string]*cause{}
	var causes []*cause
	for _, one := range results {
		if one.difference == nil {
			continue
		}
		signature := one.difference.Signature()
		c := byName[signature]
		if c == nil {
			c = &cause{signature: signature, reason: reason(one.difference)}
			byName[signature], causes = c, append(causes, c)
		}
		c.results = append(c.results, one)
	}
	slices.SortStableFunc(causes, func(a, b *cause) int { return cmp.Compare(len(b.results), len(a.results)) })
	return causes
}

// report prints the causes of differences, each with one history that was made shorter. It fails if one has no reason; with -update
// it writes the list instead. Played says what was played.
func (r *runner) report(ctx context.Context, w io.Writer, results []result, played string) error {
	if r.verbose {
		for _, one := range results {
			for _, e := range one.history.Recording().Exchanges {
				fmt.Fprintf(w, "%s\n  %s\n%s\n\n", e.Step.Name(), e.Step.Body, e.Answer)
			}
		}
	}
	shrinker := &play.Shrinker{Right: r.real, Other: r.ours, Attempts: shrinkAttempts}
	var listed []verdict.Result
	unexplained := 0
	for _, c := range causes(results) {
		for _, one := range c.results {
			listed = append(listed, verdict.Result{Name: one.history.Name, Verdict: verdict.Fail, Reason: c.reason})
		}
		if c.reason != "" {
			fmt.Fprintf(w, "%d histories differ: %s\n", len(c.results), c.reason)
			continue
		}
		unexplained += len(c.results)
		one := c.results[0]
		difference := one.difference
		if !r.whole {
			difference = shrinker.Shrink(ctx, one.id(), difference)
		}
		fmt.Fprintf(w, "\n=== %d histories without a reason, such as %s: %s\n", len(c.results), one.history.Name, c.signature)
		for _, step := range append(slices.Clone(difference.Before), difference.Step) {
			fmt.Fprintln(w, step.Scenario())
		}
		fmt.Fprintln(w, difference.Diff)
	}
	fmt.Fprintf(w, "%d histories differ, %d of them without a reason\n", len(listed), unexplained)
	if r.update {
		slices.SortFunc(listed, func(a, b verdict.Result) int { return cmp.Compare(a.Name, b.Name) })
		return verdict.WriteList(listPath, listComment+played, listed)
	}
	if unexplained > 0 {
		return fmt.Errorf("%d histories differ without a reason", unexplained)
	}
	return nil
}
