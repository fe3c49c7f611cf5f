package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/conformance/kubelet/trace"
	"github.com/fakecluster/fakecluster/conformance/kubelet/world"
)

const (
	// batch is how many pods a node runs at once.
	batch = 100
	// repeats is how often pods that differ run again.
	repeats = 4
)

// result is the result of a comparison.
type result struct {
	pods     []int
	repeated int // the same in a repetition only
	differ   []difference
}

// difference is a pod that differs.
type difference struct {
	pod            int
	reason         *reason // nil: it is not known
	lines          []string
	kubelet, agent *trace.Trace
}

// String returns the reason, and the differences if it is not known.
func (d difference) String() string {
	if d.reason != nil {
		return d.reason.name + "\n"
	}
	return unexplained + "\n" + d.text()
}

// text returns the differences.
func (d difference) text() string {
	var b strings.Builder
	for _, line := range d.lines {
		fmt.Fprintf(&b, "  * %s\n", strings.ReplaceAll(line, "\n", "\n    "))
	}
	return b.String()
}

// compare runs pods under both agents, and calls report for each that differs.
func compare(ctx context.Context, seed uint64, pods []int, report func(difference)) (*result, error) {
	r := &result{pods: pods}
	for left := range slices.Chunk(pods, batch) {
		var differ []difference
		for attempt := range repeats + 1 {
			before := len(left)
			var err error
			if left, differ, err = run(ctx, order{Seed: seed, Pods: left, Offset: time.Duration(attempt) * 230 * time.Millisecond}); err != nil {
				return nil, err
			}
			if attempt > 0 {
				r.repeated += before - len(left)
			}
			if len(left) == 0 {
				break
			}
		}
		for _, d := range differ {
			report(d)
		}
		r.differ = append(r.differ, differ...)
	}
	return r, nil
}

// run runs pods once, and returns those that differ.
func run(ctx context.Context, o order) (left []int, differ []difference, err error) {
	kubelet, err := child(ctx, world.Kubelet, o)
	if err != nil {
		return nil, nil, err
	}
	agent, err := child(ctx, world.Agent, o)
	if err != nil {
		return nil, nil, err
	}
	for i, n := range o.Pods {
		lines := trace.Compare(kubelet[i], agent[i])
		if len(lines) == 0 {
			continue
		}
		left = append(left, n)
		differ = append(differ, difference{
			pod: n, reason: reasonOf(lines, kubelet[i], agent[i]), lines: lines, kubelet: kubelet[i], agent: agent[i],
		})
	}
	return left, differ, nil
}

// unexplained returns how many pods differ without a known reason.
func (r *result) unexplained() int {
	n := 0
	for _, d := range r.differ {
		if d.reason == nil {
			n++
		}
	}
	return n
}

func (r *result) summary() string {
	return fmt.Sprintf("%d of %d pods are the same, %d of them in a repetition; %d differ, %d without a known reason",
		len(r.pods)-len(r.differ), len(r.pods), r.repeated, len(r.differ), r.unexplained())
}
