package controller

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var keeps = &controller{name: "keeps"}

func keyed(name string) item { return item{keeps, key{name: name}} }

func TestAKeyHasTheEarliestOfItsAlarms(t *testing.T) {
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
			a.set(keyed("a"), begin, begin.Add(after), rings)
		}
		a.set(keyed("b"), begin, begin.Add(-time.Hour), rings)
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
			a.set(keyed(name), begin, begin.Add(time.Duration(i+1)*time.Minute), func(context.Context) {
				if name != "a" {
					rang.Store(true)
				}
			})
		}
		got := a.overdue(func() time.Time { return begin.Add(2 * time.Minute) })
		if want := []item{keyed("b"), keyed("c")}; !slices.Equal(got, want) {
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
		a.set(keyed("a"), now, now, func(ctx context.Context) {
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
		a.set(keyed("a"), now, now, func(context.Context) { t.Error("an alarm was set after Close") })
		time.Sleep(time.Hour)
	})
}
