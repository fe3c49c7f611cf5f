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
	"time"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/inspect"
)

// exploration runs a body again and again.
type exploration struct {
	t    test
	body Body
	settings
	result Result
	err    error // why a run could not be played in another process
}

func (e *exploration) replay(text string) (Result, error) {
	what, err := parse(text, e.t.Name())
	if err != nil {
		return Result{}, err
	}
	r := e.once(what, false)
	if e.err != nil {
		return e.result, e.err
	}
	for _, p := range what {
		if p.effect != order && !r.reached[occurrence{p.request, p.nth}] {
			return Result{}, fmt.Errorf("the point %q of the schedule was not reached, because the test or the controller has changed: run the test without explore.Replay", p)
		}
	}
	return e.result, nil
}

func (e *exploration) explore() {
	base := e.once(nil, true)
	if e.err != nil || e.result.Failure != nil {
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

// after returns a run with only the requests after a point.
func (r *run) after(p point) *run {
	if p.effect == order {
		return r
	}
	first := slices.IndexFunc(r.seen, func(s *sentRequest) bool { return s.occurrence == occurrence{p.request, p.nth} })
	return &run{seen: r.seen[first+1:], listed: r.listed}
}

// over reports whether to stop: a run has failed or could not be played, or the bound of runs is reached.
func (e *exploration) over() bool {
	if e.err != nil {
		return true
	}
	e.result.More = e.result.Failure == nil && e.result.Runs >= e.runs
	return e.result.Failure != nil || e.result.More
}

// once runs the body once.
func (e *exploration) once(what schedule, probes bool) *run {
	e.result.Runs++
	r := &run{probes: probes, anyRead: e.stale, counts: map[request]int{}, reached: map[occurrence]bool{}, points: map[occurrence]point{}}
	r.panic = func(text string) { e.t.panic("explore: " + e.t.Name() + ": " + text) }
	for _, p := range what {
		if p.effect == order {
			r.order = rand.New(rand.NewPCG(e.seed, uint64(p.amount)))
		} else {
			r.points[occurrence{p.request, p.nth}] = p
		}
	}
	if e.t.begin != nil {
		e.elsewhere(r)
	} else {
		e.inBubble(r)
	}
	if e.err != nil {
		return r
	}
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

// inBubble plays a run in a bubble of this process.
func (e *exploration) inBubble(r *run) {
	bubbleID := ""
	defer func() {
		// synctest.Test panics so if goroutines are left in the bubble that wait forever.
		if p := recover(); p != nil {
			left := leftOver(stacksIn(bubbleID))
			if !strings.Contains(fmt.Sprint(p), "deadlock") || left == "" {
				panic(p)
			}
			r.noteLeft(left)
		}
	}()
	e.t.bubble(func(t *testing.T) {
		bubbleID = bubbleOf()
		e.play(t, r)
	})
}

// elsewhere plays a run whose body and controllers run in a bubble of another process, and whose time is that of this bubble.
func (e *exploration) elsewhere(r *run) {
	r.there = e.t.begin()
	left, err := r.there.Play(func(t testing.TB) { e.play(t, r) },
		func(stack, reason string) {
			r.panic(inRun.Replace(reason) + ". The goroutine that waits:\n\n" + stack + "\n")
		},
		func(idle time.Duration) {
			r.panic(fmt.Sprintf("the run does not end: %d days have passed in it without a request of the test or its controllers, and the test waits for something that does not come: give the loop an end, or write c.Wait in its place", idle/(24*time.Hour)))
		})
	if err != nil || r.t == nil {
		e.err = cmp.Or(err, errNotPlayed)
		return
	}
	if text := leftOver(left); text != "" {
		r.noteLeft(text)
	}
}

var errNotPlayed = errors.New("the run has not begun")

// inRun replaces advice for a test by advice for a body.
var inRun = strings.NewReplacer("in the function of synctest.Test", "in the body", "before synctest.Test", "before explore.Run")

// noteLeft fails a run because of goroutines that are left in its bubble.
func (r *run) noteLeft(left string) {
	r.t.Errorf("goroutines wait forever after the run: end what the test or a controller starts, such as an informer, a watch or a worker, with the context of c.Control: %s", left)
}

// play plays a run in its bubble.
func (e *exploration) play(t testing.TB, r *run) {
	r.t = &recorder{TB: t}
	done := make(chan struct{})
	go func() { // a goroutine of its own, because t.Fatal in the body ends it
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
	if r.there != nil {
		r.there.CleanUp()
	}
}

// collectRequests reads the results of the requests from the history of the cluster.
func (r *run) collectRequests() {
	r.listed = map[string]inspect.Request{}
	for _, req := range r.cluster.Requests() {
		r.listed[req.AuditID] = req
	}
}

// pointsOf returns the points at which a fault makes a difference, and the number of points that are left
// out.
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
	// The order of requests at the same moment is random.
	seen := slices.Clone(base.seen)
	slices.SortStableFunc(seen, func(a, b *sentRequest) int {
		return cmp.Or(a.time.Compare(b.time), cmp.Compare(fmt.Sprint(a.occurrence), fmt.Sprint(b.occurrence)))
	})
	for _, s := range seen {
		request := base.listed[s.auditID]
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
