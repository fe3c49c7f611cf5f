package lifecycle

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// alarms are tasks that are due at a time that is known. An alarm is a timer: nothing runs and
// nothing polls before it rings. In a testing/synctest bubble it rings by the bubble's clock.
//
// The timer goes by the clock of the process or of the bubble. If the cluster has another clock,
// each write also does what is due by that one.
//
// A task has one alarm at most, the earliest that was set. When the task is done then, it finds
// out what is so by that time, and may set the next one. So an alarm that is not needed any
// more, because its object has changed or is gone, does no harm.
//
// The mutex is held for a look-up only.
type alarms struct {
	mu      sync.Mutex
	pending map[task]alarm
	running sync.WaitGroup // those that ring

	ctx  context.Context // ends with Close
	stop context.CancelFunc
}

// alarm is a timer and when it rings.
type alarm struct {
	timer *time.Timer
	due   time.Time
	again time.Time // the same by the clock of the cluster
}

func newAlarms() *alarms {
	a := &alarms{pending: map[task]alarm{}}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a
}

// doAt sets an alarm that does a task at a later time.
func (r *Reactor) doAt(t task, at time.Time) {
	r.alarms.set(t, r.server.Now().Time, at, func(ctx context.Context) {
		list := &tasks{}
		list.add(t.kind, t.name)
		r.work(ctx, list)
	})
}

// set has do called for a task when the clock of the cluster, which shows now, has come to
// again, unless the task has an earlier alarm.
func (a *alarms) set(t task, now, again time.Time, do func(context.Context)) {
	after := again.Sub(now)
	due := time.Now().Add(after)
	a.mu.Lock()
	defer a.mu.Unlock()
	was, ok := a.pending[t]
	if a.ctx.Err() != nil || ok && !due.Before(was.due) {
		return
	}
	if ok {
		was.timer.Stop()
	}
	a.pending[t] = alarm{due: due, again: again, timer: time.AfterFunc(after, func() {
		if a.ring(t, due) {
			defer a.running.Done()
			do(a.ctx)
		}
	})}
}

// overdue takes off the tasks whose time has come by the clock of the cluster.
func (a *alarms) overdue(now func() time.Time) []task {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.pending) == 0 {
		return nil
	}
	var all []task
	for t, is := range a.pending {
		if !is.again.After(now()) {
			is.timer.Stop()
			delete(a.pending, t)
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b task) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name)) })
	return all
}

// of returns the names of the tasks of a kind that have an alarm.
func (a *alarms) of(kind string) (names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for t := range a.pending {
		if t.kind == kind {
			names = append(names, t.name)
		}
	}
	slices.Sort(names)
	return names
}

// ring tells whether an alarm that has gone off is still that of its task. Then the caller
// has to call running.Done.
func (a *alarms) ring(t task, due time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if is, ok := a.pending[t]; !ok || is.due != due || a.ctx.Err() != nil {
		return false
	}
	delete(a.pending, t)
	a.running.Add(1)
	return true
}

// close ends all alarms, and waits for those that ring.
func (a *alarms) close() {
	a.mu.Lock()
	a.stop()
	for _, is := range a.pending {
		is.timer.Stop()
	}
	a.pending = nil
	a.mu.Unlock()
	a.running.Wait()
}
