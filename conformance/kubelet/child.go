package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/conformance/kubelet/random"
	"github.com/fakecluster/fakecluster/conformance/kubelet/trace"
	"github.com/fakecluster/fakecluster/conformance/kubelet/world"
)

// worldVariable is the variable of the environment that makes this program one world: the name of its agent. It reads an order from its standard input, and
// writes records to its standard output.
const worldVariable = "KUBELET_WORLD"

// order is what a world runs: pods of a seed, created at a fraction of a second.
type order struct {
	Seed   uint64
	Pods   []int
	Offset time.Duration
}

// inTest runs a world in a bubble, and ends the process. Only package testing can make a bubble, and it makes one in a test only.
func inTest(name string) {
	testing.Init()
	if err := flag.CommandLine.Parse(nil); err != nil {
		panic(err) // no arguments cannot be wrong
	}
	work := make(chan func()) // outside of the bubble
	go func() {
		for f := range work {
			go f()
		}
	}()
	outside := func(f func()) { work <- f }
	run := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if err := runWorld(t.Context(), name, outside); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		})
	}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: name, F: run}}, nil, nil)
}

func runWorld(ctx context.Context, name string, outside func(func())) error {
	klog.SetLogger(logr.Discard())
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return err
	}
	scenarios := make([]random.Scenario, 0, len(o.Pods))
	for _, n := range o.Pods {
		scenarios = append(scenarios, random.Pod(o.Seed, n))
	}
	records, err := world.Run(ctx, name, outside, o.Offset, trace.Observed, scenarios)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(records)
}

// child runs a world in a process of its own, and returns the traces of its pods.
func child(ctx context.Context, name string, o order) ([]*trace.Trace, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, program)
	c.Env = append(os.Environ(), worldVariable+"="+name)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(input), &out, &errs
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("pods %v of seed %d under the %s: %w\n%s", o.Pods, o.Seed, name, err, errs.String())
	}
	var records []world.Record
	if err := json.Unmarshal(out.Bytes(), &records); err != nil {
		return nil, err
	}
	traces := make([]*trace.Trace, 0, len(records))
	for _, r := range records {
		traces = append(traces, trace.New(r))
	}
	return traces, nil
}
