package explore

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/printable"
)

// Body is a test that is run again and again. It reports to t, and ends as a test does. The package
// comment says what it has to contain.
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

// With gives the cluster of each run options. It is always InProcess, and has the seed of Seed. An option
// that reads something once, such as WithSnapshot, cannot be given.
//
// Default: an empty cluster.
func With(options ...fakecluster.Option) Option {
	return func(s *settings) { s.options = append(s.options, options...) }
}

// Runs bounds the number of runs. The log of the test reports if there would have been more.
//
// Default: 1000.
func Runs(n int) Option { return func(s *settings) { s.runs = n } }

// Faults is how many faults a run has at most: 1 or 2. With 2, each fault is tried with each second one
// that can strike after it, once all single ones have passed. Another order of events is a fault of the
// whole run, and is tried with each fault that can strike in it.
//
// Default: 1.
func Faults(n int) Option { return func(s *settings) { s.faults = n } }

// Seed is that of uids, generated names and of the orders in which events come.
//
// Default: 1.
func Seed(seed uint64) Option { return func(s *settings) { s.seed = seed } }

// Orders is how many orders of events are tried.
//
// Default: 8.
func Orders(n int) Option { return func(s *settings) { s.orders = n } }

// StaleReads lets reads without a resourceVersion be stale, too. It is for controllers that are tried
// with a client that reads from the server, and read from a cache otherwise.
//
// Default: only reads with resourceVersion=0 are stale, as on a real server.
func StaleReads() Option { return func(s *settings) { s.stale = true } }

// Replay runs one schedule, as a report shows it, and nothing else. A schedule of another test, and one
// whose points are not reached, fail the test.
func Replay(schedule string) Option { return func(s *settings) { s.replay = &schedule } }

// Result is what an exploration has found.
type Result struct {
	// Runs is how many runs there were, Points how many points at which something could go wrong,
	// and Pruned how many others were left out because it would have made no difference.
	Runs, Points, Pruned int
	// More is set if there would have been more runs than the bound allows.
	More bool
	// Failure is the first run that failed; nil: none did.
	Failure *Failure
}

// Failure is a run in which the test failed.
type Failure struct {
	// Schedule is what Replay takes.
	Schedule string
	// Explanation describes what went wrong, a line for each fault. It is empty if the test fails
	// without faults.
	Explanation string
	// Log is the output of the test.
	Log string
}

// Run explores a test, and fails it with the first schedule that makes it fail. A test in which nothing
// can go wrong fails as well: most likely its controllers were not handed over with [Cluster.Control].
func Run(t *testing.T, body Body, options ...Option) {
	t.Helper()
	result, err := Find(t, body, options...)
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

// Find explores a test as Run does, and returns what it has found instead of failing. The errors are about
// options, a schedule that cannot be played, and a test in which nothing can go wrong.
func Find(t *testing.T, body Body, options ...Option) (Result, error) {
	t.Helper()
	s := settings{runs: 1000, faults: 1, seed: 1, orders: 8}
	for _, o := range options {
		if o == nil {
			return Result{}, errors.New("an option is nil")
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
	if e.result.Failure == nil && e.result.Points == 0 {
		return e.result, fmt.Errorf("nothing can go wrong in this test: no controller has sent a request for which a fault makes a difference (%s where it would change nothing); start each controller with c.Control, or try explore.StaleReads()", printable.Count(e.result.Pruned, "request"))
	}
	return e.result, nil
}

// exploration runs a body again and again.
type exploration struct {
	t    *testing.T
	body Body
	settings
	result Result
}

func (e *exploration) replay(text string) (Result, error) {
	what, err := parse(text, e.t.Name())
	if err != nil {
		return Result{}, err
	}
	r := e.once(what, false)
	for _, p := range what {
		if p.effect != order && !r.reached[occurrence{p.request, p.nth}] {
			return Result{}, fmt.Errorf("the point %q of the schedule was not reached, because the test or the controller has changed: run the test without explore.Replay", p)
		}
	}
	return e.result, nil
}

func (e *exploration) explore() {
	base := e.once(nil, true)
	if e.result.Failure != nil {
		return
	}
	points, pruned := e.pointsOf(base)
	e.result.Points, e.result.Pruned = len(points), pruned
	runs := make([]*run, len(points))
	for i, p := range points {
		if e.over() {
			return
		}
		runs[i] = e.once(schedule{p}, e.faults > 1)
	}
	if e.faults < 2 {
		return
	}
	for i, p := range points {
		// The second fault strikes what the controller has done after the first one. Another order
		// comes first in such a pair, because it begins with the run.
		seconds, _ := e.pointsOf(runs[i].after(p))
		for _, q := range seconds {
			if q.effect == order {
				continue
			}
			if e.over() {
				return
			}
			e.once(schedule{p, q}, false)
		}
	}
}

// after returns what a run has seen after a point.
func (r *run) after(p point) *run {
	if p.effect == order {
		return r
	}
	first := slices.IndexFunc(r.seen, func(s *sentRequest) bool { return s.occurrence == occurrence{p.request, p.nth} })
	return &run{seen: r.seen[first+1:], listed: r.listed}
}

// over reports whether to stop: a run has failed, or there have been enough.
func (e *exploration) over() bool {
	e.result.More = e.result.Failure == nil && e.result.Runs >= e.runs
	return e.result.Failure != nil || e.result.More
}

// once runs the body once.
func (e *exploration) once(what schedule, probes bool) *run {
	e.result.Runs++
	r := &run{probes: probes, anyRead: e.stale, counts: map[request]int{}, reached: map[occurrence]bool{}, points: map[occurrence]point{}}
	for _, p := range what {
		if p.effect == order {
			r.order = rand.New(rand.NewPCG(e.seed, uint64(p.amount)))
		} else {
			r.points[occurrence{p.request, p.nth}] = p
		}
	}
	e.inBubble(r)
	if r.t.Skipped() {
		e.t.Skip(r.t.text())
	}
	if r.t.Failed() {
		var lines []string
		for _, p := range what {
			lines = append(lines, p.explain())
		}
		e.result.Failure = &Failure{Schedule: what.text(e.t.Name()), Explanation: strings.Join(lines, "\n"), Log: r.t.text()}
	}
	return r
}

func (e *exploration) inBubble(r *run) {
	bubbleID := ""
	defer func() {
		// The runtime ends a bubble so if goroutines are left in it that wait for ever.
		if p := recover(); p != nil {
			left := leftOver(bubbleID)
			if !strings.Contains(fmt.Sprint(p), "deadlock") || left == "" {
				panic(p)
			}
			r.t.Errorf("goroutines are left that wait for ever: what the test or a controller starts has to end with the context of c.Control, such as an informer, a watch or a worker: %s", left)
		}
	}()
	synctest.Test(e.t, func(t *testing.T) {
		bubbleID, r.t = bubbleOf(), &recorder{TB: t}
		done := make(chan struct{})
		go func() { // which the body may end
			defer close(done)
			r.cluster = fakecluster.Start(r.t, append(slices.Clone(e.options), fakecluster.InProcess(), fakecluster.WithSeed(e.seed))...)
			r.t.callOnError(r.cluster.ReportFailure)
			if r.order != nil {
				r.hold, r.released = r.cluster.Hold(), make(chan struct{})
				r.delivering.Go(func() { r.deliver(r.released) })
			}
			defer r.end()
			defer func() {
				if p := recover(); p != nil {
					r.t.Errorf("the test has panicked: %v\n%s", p, debug.Stack())
				}
			}()
			e.body(r.t, &Cluster{Cluster: r.cluster, run: r, t: r.t})
		}()
		<-done
		if r.cluster != nil {
			r.collectRequests()
		}
	})
}

// collectRequests reads the results of the requests from the history of the cluster.
func (r *run) collectRequests() {
	r.listed = map[string]inspect.Request{}
	for _, req := range r.cluster.Requests() {
		r.listed[req.UserAgent] = req
	}
}

// pointsOf returns the points at which something can go wrong and make a difference, and how many
// others are left out.
func (e *exploration) pointsOf(base *run) (points []point, pruned int) {
	byStrike := map[string][]point{}
	add := func(strike string, s *sentRequest, amount int, matters bool) {
		if !matters {
			pruned++
			return
		}
		byStrike[strike] = append(byStrike[strike], point{strike, s.request, s.nth, amount})
	}
	watching := 0 // watches with events
	// At the same moment, goroutines of a controller come in any order.
	seen := slices.Clone(base.seen)
	slices.SortStableFunc(seen, func(a, b *sentRequest) int {
		return cmp.Or(a.time.Compare(b.time), cmp.Compare(fmt.Sprint(a.occurrence), fmt.Sprint(b.occurrence)))
	})
	for _, s := range seen {
		request := base.listed[s.userAgent]
		switch s.verb {
		case "create", "update", "patch", "delete", "deletecollection":
			resource, _, _ := strings.Cut(s.resource, "/")
			matters := !s.dryRun && resource != "events" && resource != "events.events.k8s.io"
			for _, strike := range []string{crashAfter, cutAfter} {
				add(strike, s, 0, matters && request.Revisions > 0)
			}
			for _, strike := range []string{cutBefore, crashBefore} {
				add(strike, s, 0, matters && request.Code < 400)
			}
		case "get", "list":
			add(stale, s, s.lag, s.lag > 0)
		case "watch":
			if request.Events > 0 {
				watching++
			}
			add(late, s, 0, request.Events > 0)
			for n := range min(request.Events, 10) + 1 {
				add(drop, s, int(n), request.Events > 0)
			}
		}
	}
	for _, strike := range effects {
		points = append(points, byStrike[strike]...)
	}
	if watching > 1 {
		for n := range e.orders {
			points = append(points, point{effect: order, amount: n + 1})
		}
	} else {
		pruned += e.orders
	}
	return points, pruned
}
