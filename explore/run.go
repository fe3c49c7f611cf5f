package explore

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/printable"
)

// Body is a test that [Run] repeats. It reports to t, and ends as a test does: t.Fatal ends the run. The
// package comment describes what it must contain.
type Body func(t testing.TB, c *Cluster)

// Option configures an exploration.
type Option func(*settings)

type settings struct {
	options []fakecluster.Option
	runs    int
	faults  int
	seed    uint64
	orders  int
	stale   bool
	replay  *string
}

// With sets options of the cluster of each run. The cluster is always InProcess, and has the seed
// of [Seed]. An option that reads something once, such as WithSnapshot, cannot be given.
//
// Default: an empty cluster.
func With(options ...fakecluster.Option) Option {
	return func(s *settings) { s.options = append(s.options, options...) }
}

// Runs bounds the number of runs. The log of the test reports if there would have been more.
//
// Default: 1000.
func Runs(n int) Option { return func(s *settings) { s.runs = n } }

// Faults sets the largest number of faults in a run: 1 or 2. With 2, once all runs with one fault
// have passed, each fault is combined with each fault that can strike after it. An order of events
// applies to the whole run, and is combined with each fault that can strike in that run.
//
// Default: 1.
func Faults(n int) Option { return func(s *settings) { s.faults = n } }

// Seed sets the seed of uids, generated names and the orders of events.
//
// Default: 1.
func Seed(seed uint64) Option { return func(s *settings) { s.seed = seed } }

// Orders sets how many orders of events are tried.
//
// Default: 8.
func Orders(n int) Option { return func(s *settings) { s.orders = n } }

// StaleReads makes reads without a resourceVersion stale, too. Use it for a controller that reads
// from a cache in production, but from the server in this test.
//
// Default: only reads with resourceVersion=0 are stale, as on a real server.
func StaleReads() Option { return func(s *settings) { s.stale = true } }

// Replay runs only one schedule, as a report shows it. The test fails if the schedule belongs to another
// test, or if its points are not reached.
func Replay(schedule string) Option { return func(s *settings) { s.replay = &schedule } }

// Run explores a test, and fails it with the first schedule that makes it fail. A test in which no
// fault can strike fails as well: most likely its controllers do not run by [Cluster.Control].
func Run(t *testing.T, body Body, options ...Option) {
	t.Helper()
	test := localTest(t)
	result, err := test.try(body, options...)
	test.logResult(result, err)
}

// logResult logs the result of an exploration of a test, and fails the test with what was found.
func (t test) logResult(result Result, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("explore: %v", err)
	}
	if result.Points > 0 { // otherwise it was a replay, or the test fails without faults
		t.Logf("explore: %s, with faults at %s; at %s more a fault would change nothing", printable.Count(result.Runs, "run"), printable.Count(result.Points, "point"), printable.Count(result.Pruned, "point"))
	}
	if result.More {
		t.Logf("explore: stopped after %s, before all schedules were tried; to try more, write explore.Runs(%d)", printable.Count(result.Runs, "run"), 2*result.Runs)
	}
	if f := result.Failure; f != nil {
		t.Error(f.report())
	}
}

// report returns the failure as text.
func (f *Failure) report() string {
	var b strings.Builder
	if f.Explanation == "" {
		b.WriteString("explore: the test fails without any fault:\n")
	} else {
		fmt.Fprintf(&b, "explore: the test fails if\n    %s\n", strings.ReplaceAll(f.Explanation, "\n", "\n    and "))
	}
	fmt.Fprintf(&b, "%s\nTo run this schedule alone, give Run the option explore.Replay(%q)", f.Log, f.Schedule)
	return printable.Text(b.String())
}

// Find explores a test as Run does, and returns what it has found instead of failing. It returns an
// error if an option is wrong, if a schedule cannot be played, or if no fault can strike in the
// test.
func Find(t *testing.T, body Body, options ...Option) (Result, error) {
	t.Helper()
	return localTest(t).try(body, options...)
}

// try explores a test.
func (t test) try(body Body, options ...Option) (Result, error) {
	t.Helper()
	s := settings{runs: 1000, faults: 1, seed: 1, orders: 8}
	for i, o := range options {
		if o == nil {
			return Result{}, fmt.Errorf("option %d is nil", i+1)
		}
		o(&s)
	}
	switch {
	case body == nil:
		return Result{}, errors.New("the test is nil: give a func(t testing.TB, c *explore.Cluster) that starts a controller with c.Control and checks what it does")
	case bubble.Inside():
		return Result{}, fmt.Errorf("explore.Run in a synctest bubble: %w", errInBubble)
	case s.runs < 1:
		return Result{}, fmt.Errorf("Runs(%d): must be at least 1", s.runs)
	case s.faults < 1 || s.faults > 2:
		return Result{}, fmt.Errorf("Faults(%d): must be 1 or 2", s.faults)
	case s.orders < 0:
		return Result{}, fmt.Errorf("Orders(%d): must not be negative", s.orders)
	}
	e := &exploration{t: t, body: body, settings: s}
	if s.replay != nil {
		return e.replay(*s.replay)
	}
	e.explore()
	if e.err != nil {
		return e.result, e.err
	}
	if e.result.Failure == nil && e.result.Points == 0 {
		return e.result, fmt.Errorf("nothing can go wrong in this test: no controller has sent a request for which a fault makes a difference (%s where it would change nothing); start each controller with c.Control, or try explore.StaleReads()", printable.Count(e.result.Pruned, "request"))
	}
	return e.result, nil
}
