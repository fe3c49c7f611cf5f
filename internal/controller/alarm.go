package controller

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// alarms has the keys to sync at a known time. An alarm is a timer: nothing runs or polls before it fires. In a
// testing/synctest bubble it uses the bubble's clock.
//
// The timer uses the clock of the process or of the bubble. If the cluster has another clock, each write also syncs what
// is due by that clock.
//
// A key has at most one alarm, the earliest. The sync reads the current state, and may set the next alarm. So an alarm
// that is no longer needed, because its object has changed or is gone, does no harm.
//
// The mutex is held for lookups only.
type alarms struct {
	mu      sync.Mutex
	pending map[item]alarm
	running sync.WaitGroup // alarms that have fired and run

	ctx  context.Context // ends with Close
	stop context.CancelFunc
}

// alarm is a timer with its time.
type alarm struct {
	timer *time.Timer
	due   time.Time
	again time.Time // due by the clock of the cluster
}

func newAlarms() *alarms {
	a := &alarms{pending: map[item]alarm{}}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a
}

// set sets an alarm that calls do for an item at the time again, unless the item has an earlier alarm. Both times are by
// the clock of the cluster.
func (a *alarms) set(i item, now, again time.Time, do func(context.Context)) {
	after := again.Sub(now)
	due := time.Now().Add(after)
	a.mu.Lock()
	defer a.mu.Unlock()
	former, ok := a.pending[i]
	if a.ctx.Err() != nil || ok && !due.Before(former.due) {
		return
	}
	if ok {
		former.timer.Stop()
	}
	a.pending[i] = alarm{due: due, again: again, timer: time.AfterFunc(after, func() {
		if a.ring(i, due) {
			defer a.running.Done()
			do(a.ctx)
		}
	})}
}

// overdue removes and returns the items that are due by the clock of the cluster.
func (a *alarms) overdue(now func() time.Time) []item {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.pending) == 0 {
		return nil
	}
	var due []item
	for i, pending := range a.pending {
		if !pending.again.After(now()) {
			pending.timer.Stop()
			delete(a.pending, i)
			due = append(due, i)
		}
	}
	slices.SortFunc(due, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.controller.name, b.controller.name), cmp.Compare(a.key.task, b.key.task), cmp.Compare(a.key.String(), b.key.String()))
	})
	return due
}

// keys returns the keys of a controller that have an alarm.
func (a *alarms) keys(owner *controller) (keys []key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.pending {
		if i.controller == owner {
			keys = append(keys, i.key)
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Compare(a.String(), b.String()) })
	return keys
}

// ring reports whether an alarm that has fired is still the alarm of its item. If so, the caller must call running.Done.
func (a *alarms) ring(i item, due time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if pending, ok := a.pending[i]; !ok || pending.due != due || a.ctx.Err() != nil {
		return false
	}
	delete(a.pending, i)
	a.running.Add(1)
	return true
}

// close stops all alarms, and waits for those that run.
func (a *alarms) close() {
	a.mu.Lock()
	a.stop()
	for _, pending := range a.pending {
		pending.timer.Stop()
	}
	a.pending = nil
	a.mu.Unlock()
	a.running.Wait()
}
