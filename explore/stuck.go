package explore

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/callers"
)

// mostStuck is how many trials may be stuck before the exploration ends: each may keep a processor busy.
const mostStuck = 3

// limits are the real times after which a trial in a bubble counts as stuck.
type limits struct {
	idle   time.Duration // without a request of the operator
	total  time.Duration // in total
	period time.Duration // between two checks of a trial
}

var usualLimits = limits{idle: 2 * time.Minute, total: 10 * time.Minute, period: 5 * time.Second}

// play runs a trial until it ends or is stuck. Nothing can end a bubble from outside, so a stuck trial is
// abandoned.
func (e *operatorExploration) play(tr trial) *outcome {
	out := &outcome{run: e.newRun()}
	if e.t.begin != nil {
		out.there = e.t.begin()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil { // in a host it would end the explorations of others
				out.err = panicked(p)
			}
		}()
		e.playToEnd(tr, out)
	}()
	look := time.NewTicker(e.limits.period)
	defer look.Stop()
	began := time.Now()
	worked, last := began, int64(0)
	for {
		select {
		case <-done:
			if e.subject.RealTime == 0 { // otherwise a goroutine that is left may send requests
				out.run.forget()
				out.there = nil // it has the cluster, too
				if out.last != nil {
					out.last.forget()
				}
			}
			return out
		case b := <-out.run.still:
			if e.atRest {
				// No trial can end. A cleanup of the test may wait for the operator, so the panic is not in its goroutine.
				e.t.panic(fmt.Sprintf("explore: %s: %s\n\n%s\n", e.t.Name(), e.standstill(b), b.Stack))
				<-done
			}
			e.stuck.Add(1)
			return &outcome{run: e.newRun(), problems: []problem{{oracle: Converges, key: "stuck " + callers.LineOfStack(b.Stack), step: -1, stuck: true, what: e.standstill(b), detail: b.Stack}}}
		case p := <-out.run.endless:
			e.stuck.Add(1)
			return &outcome{run: e.newRun(), problems: []problem{p}}
		case <-look.C:
		}
		now := time.Now()
		if work := out.run.work(); work != last {
			worked, last = now, work
		}
		if e.subject.RealTime == 0 && (now.Sub(worked) >= e.limits.idle || now.Sub(began) >= e.limits.total) {
			return e.stuckIn(out, now.Sub(began))
		}
	}
}

// panicked returns the error of a trial in which something panics. It must be called while the goroutine does.
func panicked(p any) error { return fmt.Errorf("the trial has panicked: %v\n%s", p, debug.Stack()) }

// forget frees the parts of an ended run that are no longer needed, because an exploration keeps the outcomes
// of thousands of trials. It keeps the requests, from which later trials are planned.
func (r *run) forget() {
	r.cluster, r.t, r.controllers, r.user, r.pace = nil, nil, nil, nil, nil
}

// stuckIn returns the outcome of a stuck trial.
func (e *operatorExploration) stuckIn(out *outcome, passed time.Duration) *outcome {
	e.stuck.Add(1)
	stacks := stacksIn(out.run.bubbleName())
	if there := out.there; there != nil {
		stacks = there.Stacks()
	}
	busy := busyIn(stacks)
	p := problem{oracle: Converges, key: "stuck", step: -1, stuck: true,
		what: fmt.Sprintf("the trial is stuck: it has not ended after %v of real time, and no goroutine of its bubble runs", passed.Round(time.Second))}
	if busy != "" {
		p.key += " " + callers.EntryOfStack(busy)
		p.what = fmt.Sprintf("the trial is stuck: it has not ended after %v of real time, and this goroutine is busy:", passed.Round(time.Second))
		p.detail = busy
	}
	return &outcome{run: e.newRun(), problems: []problem{p}}
}

// standsStill records that a goroutine of the bubble waits for something outside of it.
func (r *run) standsStill(b bubble.Blocked) {
	select {
	case r.still <- b:
	default: // one is recorded already
	}
}

// blockedThere notes that a goroutine with a stack waits so in another process, for a reason.
func (r *run) blockedThere(stack, reason string) {
	r.standsStill(bubble.Blocked{Stack: stack, Reason: reason})
}

// passesWithoutEnd records that a trial does not end, although its time passes.
func (r *run) passesWithoutEnd(idle time.Duration, stack string) {
	r.noteEndless(problem{oracle: Converges, key: "endless", step: -1, stuck: true, detail: stack,
		what: fmt.Sprintf("the trial does not end: %d days have passed in it without a request of the operator, which has a loop that does not end with the context of Subject.Run", idle/(24*time.Hour))})
}

// noteEndless records a problem because of which a trial does not end.
func (r *run) noteEndless(p problem) {
	select {
	case r.endless <- p:
	default: // one is noted
	}
}

// setBubble sets the name of the bubble that the run is in.
func (r *run) setBubble(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bubble = name
}

// bubbleName returns the name of the bubble that the run is in; empty: none.
func (r *run) bubbleName() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bubble
}

// busyIn returns the first stack of a goroutine that runs, with those of the operator first; empty: none runs.
func busyIn(stacks []string) (busy string) {
	for _, stack := range stacks {
		if header, _, _ := strings.Cut(stack, "\n"); !strings.Contains(header, "[run") { // running or runnable
			continue
		}
		if busy == "" || callers.LineOfStack(busy) == "" && callers.LineOfStack(stack) != "" {
			busy = stack
		}
	}
	return busy
}
