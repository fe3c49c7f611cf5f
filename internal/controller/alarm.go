package controller

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// alarms are keys that are to be synced at a known time. An alarm is a timer: nothing runs and
// nothing polls before it rings. In a testing/synctest bubble it rings by the bubble's clock.
//
// The timer goes by the clock of the process or of the bubble. If the cluster has another clock,
// each write also does what is due by that one.
//
// A key has one alarm at most, the earliest that was set. The sync then finds out what is so by that
// time, and may set the next one. So an alarm that is no longer needed, because its object has changed or is
// gone, does no harm.
//
// The mutex is held for a look-up only.
type alarms struct {
	mu      sync.Mutex
	pending map[item]alarm
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
	a := &alarms{pending: map[item]alarm{}}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a
}

// set has do called for an item when the clock of the cluster, which shows now, has come to
// again, unless the item has an earlier alarm.
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

// overdue takes off the items whose time has come by the clock of the cluster.
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

// ring reports whether an alarm that has gone off is still that of its item. Then the caller
// has to call running.Done.
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

// close ends all alarms, and waits for those that ring.
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
