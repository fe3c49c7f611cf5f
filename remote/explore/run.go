package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/remote/internal/exploration"
)

// Body is a test that [Run] repeats, each time in a testing/synctest bubble. It reports to t, and ends as a test does: t.Fatal ends the run. It starts the controllers
// under test with [Cluster.Control], and checks the result at the end.
type Body func(t testing.TB, c *Cluster)

// Option configures an exploration of a test.
type Option func(*runSettings)

type runSettings struct {
	options []remote.Option
	fields  map[string]any // of the request
}

// set returns an option that sets a field of the request.
func set(field string, value any) Option {
	return func(s *runSettings) { s.fields[field] = value }
}

// With sets options of the cluster of each run. [remote.Snapshot] cannot be given, because it is read once.
//
// Default: an empty cluster.
func With(options ...remote.Option) Option {
	return func(s *runSettings) { s.options = append(s.options, options...) }
}

// Runs bounds the number of runs. The log of the test reports if there would have been more.
//
// Default: 1000.
func Runs(n int) Option { return set("runs", n) }

// Faults sets the largest number of faults in a run: 1 or 2. With 2, once all runs with one fault
// have passed, each fault is combined with each fault that can strike after it. An order of events
// applies to the whole run, and is combined with each fault that can strike in that run.
//
// Default: 1.
func Faults(n int) Option { return set("faults", n) }

// Seed sets the seed of uids, generated names and the orders of events.
//
// Default: 1.
func Seed(seed uint64) Option { return set("seed", seed) }

// Orders sets how many orders of events are tried.
//
// Default: 8.
func Orders(n int) Option { return set("orders", n) }

// StaleReads makes reads without a resourceVersion stale, too. Use it for a controller that reads
// from a cache in production, but from the server in this test.
//
// Default: only reads with resourceVersion=0 are stale, as on a real server.
func StaleReads() Option { return set("staleReads", true) }

// Replay runs only one schedule, as a report shows it. The test fails if the schedule belongs to another
// test, or if its points are not reached.
func Replay(schedule string) Option { return set("replay", schedule) }

// Run explores a test, and fails it with the first schedule that makes it fail. A test in which no
// fault can strike fails as well: most likely its controllers do not run by [Cluster.Control]. It must not be called in a
// testing/synctest bubble.
//
// The same seed has the same runs as Run of package explore of the main module, and the same verdict. docs/faults.md describes the faults.
func Run(t *testing.T, body Body, options ...Option) {
	t.Helper()
	if _, err := find(t, true, body, options); err != nil {
		fail(t, err)
	}
}

// fail ends the test with an error. Some of the host have the prefix already.
func fail(t *testing.T, err error) {
	t.Helper()
	t.Fatal("explore: " + strings.TrimPrefix(err.Error(), "explore: "))
}

// Find explores a test as Run does, and returns what it has found instead of failing. It returns an
// error if an option is wrong, if a schedule cannot be played, or if no fault can strike in the
// test.
func Find(t *testing.T, body Body, options ...Option) (Result, error) {
	t.Helper()
	return find(t, false, body, options)
}

func find(t *testing.T, fails bool, body Body, options []Option) (result Result, err error) {
	t.Helper()
	if body == nil {
		return result, errors.New("the test is nil: give a func(t testing.TB, c *explore.Cluster) that starts a controller with c.Control and checks what it does")
	}
	s := runSettings{fields: map[string]any{}}
	for i, o := range options {
		if o == nil {
			return result, fmt.Errorf("option %d is nil", i+1)
		}
		o(&s)
	}
	x, _, err := newExploration(t, fails, &result)
	if err != nil {
		return result, err
	}
	x.Run = &exploration.Run[remote.Option, *remote.Cluster]{Fields: s.fields, Options: s.options, Body: body.run}
	return result, remote.Explore(t, x)
}

// run runs the body once.
func (b Body) run(t *testing.T, run exploration.PlayedRun[*remote.Cluster]) (cleanUp func(), skipped bool) {
	report := &recorder{TB: t, tell: func(failed bool, text string) {
		if failed || text != "" {
			_, _ = run.Log(failed, text) // the run may have ended
		}
	}}
	test := &bodyTest{newTrialTest(context.Background(), report), run}
	await(func() {
		defer func() {
			if what := recover(); what != nil {
				report.Errorf("the test has panicked: %v\n%s", what, debug.Stack())
			}
		}()
		b(test, &Cluster{run.Cluster(test), test})
	})
	return func() {
		for !await(test.end) { // one of the cleanups has ended its goroutine
		}
	}, report.Skipped()
}

// await calls a function that may end its goroutine, and reports whether it has returned.
func await(f func()) (returned bool) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
		returned = true
	}()
	<-ended
	return returned
}

// bodyTest is the test of a run. What it records is told to the host, where controllers may fail the run, too.
type bodyTest struct {
	*trialTest
	run exploration.PlayedRun[*remote.Cluster]
}

// Failed reports whether the run has failed, by the body or by a controller.
func (t *bodyTest) Failed() bool {
	state, err := t.run.Log(false, "")
	return err == nil && state.Failed || t.trialTest.Failed()
}

// Cluster is the cluster of one run, in a testing/synctest bubble.
type Cluster struct {
	*remote.Cluster
	test *bodyTest
}

// Control runs a controller until the end of the body. It calls start on a goroutine of its own, with the
// cluster as the controller sees it, and start runs the controller until the context ends, with clients of this cluster:
//
//	&rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}
//
// start may return earlier, if everything that it has started ends with the context. Control calls it again
// after each crash of the schedule, so it must begin from nothing, as a new process does. If start returns an
// error before its context ends, or panics, the run fails.
//
// config has the credentials of a user, such as c.Config() or c.ServiceAccountConfig(namespace, name). name becomes the user agent of the requests: one word without
// spaces and slashes, which no other controller of the body has. A wrong argument fails the run with t.Fatal.
func (c *Cluster) Control(name string, config remote.Config, start func(ctx context.Context, c *remote.Cluster) error) {
	if config.BearerToken == "" {
		c.test.Fatalf("explore: the configuration of the controller %s has no token: give c.Config(), or that of its service account", name)
	}
	if start == nil {
		c.test.Fatalf("explore: the function of the controller %s is nil: give a func(ctx context.Context, c *remote.Cluster) error that runs it until ctx ends", name)
	}
	c.test.acted(c.test.run.Control(name, config.BearerToken, start))
}

// Wait lets virtual time pass, so that the controllers do their work. Then it waits until every goroutine of
// the bubble is blocked, and every watch has delivered all its events. A minute is enough for a controller
// that retries with exponential back-off, and for late events.
//
// A body may also wait by WaitFor, Settle, a watch or a poll of its own. With synctest.Wait alone no time
// passes, and in the runs that reorder events none is delivered. In these runs the body cannot use
// Hold itself; Orders(0) leaves them out.
func (c *Cluster) Wait(d time.Duration) { c.test.acted(c.test.run.Wait(d)) }

// acted ends the test if an action has failed.
func (t *bodyTest) acted(state exploration.RunState, err error) {
	if err != nil {
		t.Fatalf("explore: %v", err)
	}
	if state.Fatal {
		runtime.Goexit()
	}
}
