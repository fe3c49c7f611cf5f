package lifecycle

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Without keepers a change is not even looked at: it has no resource here.
func TestAWriteCostsNothingMoreWithoutKeepers(t *testing.T) {
	r, list := &Reactor{alarms: newAlarms()}, &tasks{}
	if n := testing.AllocsPerRun(100, func() { r.noteKeepers(list, Change{}) }); n != 0 || len(list.left) > 0 {
		t.Errorf("%v allocations, tasks %v", n, list.left)
	}
}

func TestATaskHasTheEarliestOfItsAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, begin := newAlarms(), time.Now()
		defer a.close()
		var mu sync.Mutex // two alarms may ring at the same time
		var rang []time.Duration
		rings := func(context.Context) {
			mu.Lock()
			defer mu.Unlock()
			rang = append(rang, time.Since(begin))
		}
		for _, after := range []time.Duration{3 * time.Minute, time.Minute, 2 * time.Minute} {
			a.set(task{"keep", "a"}, begin, begin.Add(after), rings)
		}
		a.set(task{"keep", "b"}, begin, begin.Add(-time.Hour), rings)
		time.Sleep(time.Hour)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if want := []time.Duration{0, time.Minute}; !slices.Equal(rang, want) {
			t.Errorf("rang after %v, want %v", rang, want)
		}
	})
}

func TestAWriteTakesOffTheAlarmsThatAreDueByTheClockOfTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, begin := newAlarms(), time.Now()
		var rang atomic.Bool
		defer a.close()
		for i, name := range []string{"c", "b", "a"} {
			a.set(task{"keep", name}, begin, begin.Add(time.Duration(i+1)*time.Minute), func(context.Context) {
				if name != "a" {
					rang.Store(true)
				}
			})
		}
		got := a.overdue(func() time.Time { return begin.Add(2 * time.Minute) })
		if want := []task{{"keep", "b"}, {"keep", "c"}}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if rang.Load() {
			t.Error("an alarm went off that had been taken off")
		}
	})
}

func TestCloseWaitsForAnAlarmAndEndsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, now := newAlarms(), time.Now()
		rings, done := make(chan struct{}), false
		a.set(task{"keep", "a"}, now, now, func(ctx context.Context) {
			close(rings)
			<-ctx.Done()
			time.Sleep(time.Minute)
			done = true
		})
		<-rings
		a.close()
		if !done {
			t.Error("Close did not wait")
		}
		a.set(task{"keep", "a"}, now, now, func(context.Context) { t.Error("an alarm was set after Close") })
		time.Sleep(time.Hour)
	})
}
