package bubble

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const day = 24 * time.Hour

// A loop that sleeps until something happens lets the time of its bubble pass without end. A check outside finds it, and reports it once.
func TestTimeThatPassesWithoutEndIsReported(t *testing.T) {
	var reports atomic.Int32
	var idle time.Duration
	var stack string
	synctest.Test(t, func(t *testing.T) {
		defer WatchPassing(day, func() {}, func() int64 { return 1 }, func(found time.Duration, foundStack string) {
			idle, stack = found, foundStack
			reports.Add(1)
		})()
		defer WatchPassing(day, func() {}, func() int64 { return 1 }, func(time.Duration, string) { t.Error("the second one is called, too") })()
		for range 2*passingChecks + 1 {
			time.Sleep(40 * day)
			checkPassing() // in place of the timer of the process
		}
	})
	if reports.Load() != 1 || idle < 400*day/2 || !strings.Contains(stack, "passing_test.go") || strings.Contains(stack, "synctest.Run") {
		t.Errorf("%d reports, after %v, at %s", reports.Load(), idle, stack)
	}
	if len(passings.watched) != 0 {
		t.Errorf("watched afterwards: %v", passings.watched)
	}
}

// What is no mistake: work between the checks, time that does not pass, and a single long sleep.
func TestTimeThatPassesAsItShould(t *testing.T) {
	for _, test := range []struct {
		rule  string
		check func(i int, work *atomic.Int64)
	}{
		{"work", func(_ int, work *atomic.Int64) { time.Sleep(40 * day); work.Add(1) }},
		{"no time", func(int, *atomic.Int64) {}},
		{"a long sleep, and then none", func(i int, _ *atomic.Int64) {
			if i == 3 {
				time.Sleep(365 * day)
			}
		}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var work atomic.Int64
				defer WatchPassing(day, func() {}, work.Load, func(time.Duration, string) { t.Error("it is reported") })()
				for i := range 3 * passingChecks {
					test.check(i, &work)
					checkPassing()
				}
			})
		})
	}
}

// The runtime still reports that all goroutines of a bubble wait for ever.
func TestADeadlockIsStillFound(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.Contains(p.(error).Error(), "deadlock") {
			t.Errorf("the panic is %v", p)
		}
		passings.watched = nil
	}()
	synctest.Test(t, func(*testing.T) {
		WatchPassing(day, func() {}, func() int64 { return 1 }, func(time.Duration, string) { t.Error("it is reported") })
		<-make(chan struct{})
	})
}
