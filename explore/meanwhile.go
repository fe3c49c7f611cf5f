package explore

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
)

// userBefore is the effect that the user takes steps of the trial right before a write of the operator: the
// steps that are marked as "at once". It is for trials of operators only.
const userBefore = "user-before"

// meanwhile coordinates steps of the user with a write of the operator. The write waits until the steps are
// done. Its answer waits until the operator's watches have delivered the changes of both, so that the next
// read of the operator does not depend on chance.
type meanwhile struct {
	write   occurrence
	reached gate // opens when the operator is about to send the write
	done    gate // opens when the user has taken the steps
	sent    gate // opens when the write has been answered
	seen    gate // opens when the operator may get the answer
	awaited bool
}

// gate is an event that happens once.
type gate struct {
	opened chan struct{}
	once   *sync.Once
}

func newGate() gate { return gate{make(chan struct{}), &sync.Once{}} }

func (g gate) open() { g.once.Do(func() { close(g.opened) }) }

// pass waits until the gate is open. It returns the error of ctx if that ends first.
func (g gate) pass(ctx context.Context) error {
	select {
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// expectUser prepares the steps that the user takes while the operator works, if they belong to this run.
// Each upgrade or downgrade begins a new run, which counts the writes from 1. In a bubble, expectUser must be
// called there.
func (p *player) expectUser() {
	i := slices.IndexFunc(p.fault, func(f point) bool { return f.effect == userBefore })
	first := slices.IndexFunc(p.steps, func(s generate.Step) bool { return s.Rush })
	if i < 0 || first < 0 {
		return
	}
	replaced := uint64(0)
	for _, s := range p.steps[:first] {
		if s.Verb == generate.Upgrade || s.Verb == generate.Downgrade {
			replaced++
		}
	}
	if replaced == p.replaced {
		p.run.user = &meanwhile{write: occurrence{p.fault[i].request, p.fault[i].nth}, reached: newGate(), done: newGate(), sent: newGate(), seen: newGate()}
	}
}

// around sends a request. If it is the write, it waits for the steps of the user before.
func (m *meanwhile) around(ctx context.Context, request occurrence, send func() (*http.Response, error)) (*http.Response, error) {
	if m == nil || request != m.write {
		return send()
	}
	m.reached.open()
	if err := m.done.pass(ctx); err != nil {
		return nil, err
	}
	resp, err := send()
	m.sent.open()
	_ = m.seen.pass(ctx)
	return resp, err
}

// end lets the operator continue.
func (m *meanwhile) end() {
	if m == nil {
		return
	}
	m.done.open()
	m.seen.open()
}

// awaitWrite waits until the operator is about to send the write before which the user takes the next steps,
// or is quiet without it.
func (p *player) awaitWrite(step int) {
	m := p.run.user
	if m == nil || m.awaited {
		return
	}
	m.awaited = true
	for range quietRounds {
		timer := time.NewTimer(p.pause(step))
		select {
		case <-m.reached.opened:
			timer.Stop()
			return
		case <-timer.C:
		}
		if p.subject.Workloads != nil || !p.runWorkloads() {
			return
		}
	}
}

// resume lets the operator send the write, and continue when its watches have delivered all changes.
func (p *player) resume() {
	m := p.run.user
	if m == nil {
		return
	}
	defer m.end()
	select {
	case <-m.reached.opened:
	default:
		return // the operator is quiet without the write
	}
	m.done.open()
	if p.subject.RealTime == 0 && m.sent.pass(p.run.t.Context()) == nil {
		p.pass(0)
	}
}

// usersChanges is how many changes a user makes at each write.
const usersChanges = 2

// users runs the trials in which a user acts while the operator works: at each write of the operator, the
// user deletes or changes the custom resource. In some of them the operator crashes at the same write, or
// loses its lease there.
func (e *operatorExploration) users(a *seedPlan) {
	var changes []generate.Change
	paths := map[string]bool{}
	for _, c := range slices.Concat(a.effective, a.changes) {
		if path := c.Steps[0].Path; len(changes) < usersChanges && !paths[path] {
			paths[path] = true
			changes = append(changes, c)
		}
	}
	bases := [][]generate.Step{{create}}
	for _, c := range changes[:min(1, len(changes))] {
		bases = append(bases, slices.Concat([]generate.Step{create}, c.Steps))
	}
	var removed, changed []trial
	for i, steps := range bases {
		if e.over() {
			return
		}
		writes, elects := e.writesOf(trial{seed: a.seed, steps: steps})
		for _, write := range writes {
			if i == 0 {
				a.writes = append(a.writes, write)
			}
			crash := write
			crash.effect = crashBefore
			gone := slices.Concat(steps, []generate.Step{rush(remove), create})
			removed = append(removed, trial{seed: a.seed, steps: gone, fault: schedule{write}}, trial{seed: a.seed, steps: gone, fault: schedule{write, crash}})
			loss := write
			loss.effect = deposed
			elects := elects && e.subject.RealTime == 0
			if elects { // not with a delete: nobody would delete the object of a late write
				removed = append(removed, trial{seed: a.seed, steps: steps, fault: schedule{loss}})
			}
			for _, c := range changes[i:] {
				steps := slices.Concat(steps, rushed(c.Steps))
				changed = append(changed, trial{seed: a.seed, steps: steps, fault: schedule{write}})
				if elects {
					changed = append(changed, trial{seed: a.seed, steps: steps, fault: schedule{write, loss}})
				}
			}
		}
	}
	e.runAll(slices.Concat(e.inShard(removed), changed)) // the changes are those of this shard
}

// rushed returns steps that follow without a pause.
func rushed(steps []generate.Step) []generate.Step {
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].Rush = true
	}
	return steps
}

// writesOf returns the writes of the operator after the last step of a trial, as points with the effect
// userBefore, and whether the operator elects a leader.
func (e *operatorExploration) writesOf(tr trial) (writes schedule, elects bool) {
	out := e.runAll([]trial{tr})[0]
	if out.rejected != "" || out.last == nil || len(out.times) != len(tr.steps) {
		return nil, false
	}
	sent := map[occurrence]time.Time{}
	for _, s := range out.last.seen {
		sent[s.occurrence] = s.time
	}
	points, _ := (&exploration{}).pointsOf(out.last)
	for _, p := range points {
		resource, _, _ := strings.Cut(p.request.resource, ".")
		if p.effect == crashBefore && !uncounted(resource) && !sent[occurrence{p.request, p.nth}].Before(out.times[len(out.times)-1]) {
			p.effect = userBefore
			writes = append(writes, p)
		}
	}
	return writes, out.electsLeader()
}
