// Command living plays the same histories in a cluster with the real kube-apiserver, kube-controller-manager and
// kube-scheduler, and in a fakecluster in which things live, both with fakecluster's nodes. It compares the objects, Events and
// conditions that they leave. From the folder conformance:
//
//	go run ./living                       # all histories that living.txt has; compares the results with that
//	go run ./living -only 'Job' -show     # shows the differences of some
//	go run ./living -seeds 100-200 -only seed -show # of other random histories
//	go run ./living -update               # writes living.txt, and the recordings of the real cluster for the test
//
// The fakecluster is in a bubble, so that its part takes no time. A history that differs is played once more in
// both: the real programs are at the mercy of a busy machine.
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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/fakecluster/fakecluster/conformance/living/history"
	"github.com/fakecluster/fakecluster/conformance/verdict"
)

// list has a line for each history.
var list = verdict.List{
	Path: "living.txt",
	Comment: `Histories of living clusters: whether a fakecluster is left as the real kube-apiserver,
kube-controller-manager and kube-scheduler leave it, with the same nodes. Written by "go run ./living -update".
The first line that differs follows: "-" is the real cluster, "+" fakecluster.`,
}

// options are the flags.
type options struct {
	only         string
	seeds        string
	planes       int
	update, show bool
}

func main() {
	testing.Init()
	var o options
	flag.StringVar(&o.only, "only", "", "play only the histories whose names match this regular `expression`")
	flag.StringVar(&o.seeds, "seeds", "1-16", "the seeds of random histories, as `first-last`; empty: none")
	flag.IntVar(&o.planes, "planes", 2, "how many real control planes run at the same time")
	flag.BoolVar(&o.update, "update", false, "write the results to the list, and record what the real cluster does, instead of comparing them")
	flag.BoolVar(&o.show, "show", false, "show how the clusters differ")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// There are bubbles in tests only.
	every := func(string, string) (bool, error) { return true, nil }
	testing.Main(every, []testing.InternalTest{{Name: "living", F: func(t *testing.T) {
		if err := run(ctx, t, os.Stdout, o); err != nil {
			t.Fatal(err)
		}
	}}}, nil, nil)
}

func run(ctx context.Context, t *testing.T, w io.Writer, o options) error {
	matches, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	seeds, err := readSeeds(o.seeds)
	if err != nil {
		return err
	}
	var chosen []history.History
	for _, h := range append(history.Fixed(), history.Random(seeds)...) {
		if matches.MatchString(h.Name) {
			chosen = append(chosen, h)
		}
	}
	results, err := playAll(ctx, t, w, o, chosen)
	if err != nil {
		return err
	}
	list.Match = matches.MatchString
	list.Update = o.update
	return list.Check(w, results)
}

// readSeeds reads "first-last".
func readSeeds(text string) (seeds []uint64, err error) {
	if text == "" {
		return nil, nil
	}
	var first, last uint64
	if _, err := fmt.Sscanf(text, "%d-%d", &first, &last); err != nil {
		return nil, fmt.Errorf("the seeds are %q, and have to be first-last", text)
	}
	for s := first; s <= last; s++ {
		seeds = append(seeds, s)
	}
	return seeds, nil
}

// playAll plays histories in real clusters, each at the same time as some others, and in fakeclusters.
func playAll(ctx context.Context, t *testing.T, w io.Writer, o options, histories []history.History) ([]verdict.Result, error) {
	build, err := buildReal(ctx, map[string]any{"nodes": history.Nodes, "behaviors": history.AllBehaviors()})
	if err != nil {
		return nil, err
	}
	defer build.remove()
	results := make([]verdict.Result, len(histories))
	next := make(chan int)
	var mu sync.Mutex
	var failed error
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range o.planes {
		running.Go(func() {
			err := build.withPlane(ctx, func(p *plane) error {
				for i := range next {
					result, shown, err := compare(ctx, t, p, histories[i], o.update)
					if err != nil {
						return fmt.Errorf("%s: %w", histories[i].Name, err)
					}
					mu.Lock()
					results[i] = result
					fmt.Fprintf(w, "%-4s %6.1fs  %s\n", result.Verdict, result.Time.Seconds(), result.Name)
					if o.show && shown != "" {
						fmt.Fprintf(w, "%s%s\n", histories[i], shown)
					}
					mu.Unlock()
				}
				return nil
			})
			if err != nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
				cancel()
			}
		})
	}
send:
	for i := range histories {
		select {
		case next <- i:
		case <-ctx.Done():
			break send
		}
	}
	close(next)
	running.Wait()
	if failed != nil {
		return nil, failed
	}
	return results, context.Cause(ctx)
}

// compare plays a history in a real cluster and in a fakecluster. shown are the lines that differ, with some around them.
func compare(ctx context.Context, t *testing.T, p *plane, h history.History, record bool) (result verdict.Result, shown string, err error) {
	began := time.Now()
	for range 2 {
		real, err := p.play(ctx, h)
		if err != nil {
			return result, "", fmt.Errorf("the real cluster: %w", err)
		}
		ours, err := playHere(t, h)
		if err != nil {
			return result, "", fmt.Errorf("fakecluster: %w", err)
		}
		if record && h.Seed == 0 {
			if err := writeRecording(h, real); err != nil {
				return result, "", err
			}
		}
		if shown, err = difference(real, ours); shown == "" || err != nil {
			break
		}
	}
	result = verdict.Result{Name: h.Name, Verdict: verdict.Pass, Time: time.Since(began)}
	if shown != "" {
		result.Verdict, result.Reason = verdict.Fail, verdict.Reason(firstDifference(shown))
	}
	return result, shown, err
}

// difference returns the lines that differ: "-" is the real cluster, "+" fakecluster.
func difference(real, ours string) (string, error) {
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(real), B: difflib.SplitLines(ours), FromFile: "real", ToFile: "fakecluster", Context: 3,
	})
}

// firstDifference returns the first line that differs.
func firstDifference(diff string) string {
	for line := range strings.Lines(diff) {
		if (strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+")) && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "+++") {
			return line
		}
	}
	return diff
}
