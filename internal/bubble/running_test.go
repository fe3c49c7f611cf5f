package bubble

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// A goroutine of a bubble that never pauses is reported once, with its stack.
func TestAGoroutineThatRunsWithoutAPauseIsReported(t *testing.T) {
	var reports atomic.Int32
	var stack string
	go func() {
		for reports.Load() == 0 {
			Check()
			runtime.Gosched()
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		defer Watch(func() int64 { return 1 }, func(b Blocked) { t.Error(b.Stack) })()
		defer WatchRunning(func(found string, _ bool) { stack = found; reports.Add(1) })()
		for reports.Load() == 0 {
		}
	})
	if reports.Load() != 1 || !strings.Contains(stack, "running_test.go") {
		t.Errorf("%d reports, %s", reports.Load(), stack)
	}
	Check()
	if len(watched.running) != 0 {
		t.Errorf("watched afterwards: %v", watched.running)
	}
}

// Which goroutine runs at each of twenty checks, in the words of Go's stacks.
func TestTheGoroutineThatRunsIsFound(t *testing.T) {
	const (
		runs     = "goroutine 11 [running, synctest bubble 3]:\nmain.main()"
		runnable = "goroutine 11 [runnable, synctest bubble 3]:\nmain.main()"
		locked   = "goroutine 11 [sync.Mutex.Lock, synctest bubble 3]:\nmain.main()"
		waits    = "goroutine 11 [chan receive (durable), synctest bubble 3]:\nmain.main()"
		helps    = "goroutine 11 [runnable]:\nmain.main()"
		sleeps   = "goroutine 11 [sleep (durable), synctest bubble 3]:\nmain.main()"
		another  = "goroutine 12 [runnable, synctest bubble 3]:\nmain.main()"
		other    = "goroutine 13 [running, synctest bubble 33]:\nmain.main()"
		outside  = "goroutine 14 [running]:\nmain.main()"
	)
	for _, test := range []struct {
		rule string
		dump func(check int) string
		want string
	}{
		{"one that runs", func(int) string { return outside + "\n\n" + runs + "\n\n" + another }, runs},
		{"one that waits for a processor", func(int) string { return runnable }, runnable},
		{"one that waits for a lock now and then", func(i int) string { return map[bool]string{true: locked, false: runs}[i < 10] }, runs},
		{"one that helps the garbage collector", func(i int) string { return map[bool]string{true: helps, false: runs}[i > 3] }, helps},
		{"not one that sleeps now and then", func(i int) string { return map[bool]string{true: sleeps, false: runs}[i%15 == 14] }, ""},
		{"not one that often waits for another goroutine", func(i int) string { return map[bool]string{true: waits, false: runs}[i%5 == 4] }, ""},
		{"not several in turns", func(i int) string { return map[bool]string{true: another, false: runs}[i%15 == 14] }, ""},
		{"not one of another bubble or outside", func(int) string { return outside + "\n\n" + other }, ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			var found []string
			check := 0
			ws := &watches{running: []*loopWatch{{bubble: "3", checks: map[string]int{}, found: func(stack string, first bool) {
				if first {
					found = append(found, stack)
				}
				if (check+1)%runningChecks != 0 {
					t.Errorf("reported at check %d", check+1)
				}
			}}}}
			for check = range 50 {
				for _, report := range ws.checkRunning(test.dump(check)) {
					report()
				}
			}
			if got := strings.Join(found, "; "); got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
	t.Run("all watches of a bubble are told once, the last one as the last", func(t *testing.T) {
		var told []string
		watch := func(name, bubble string) *loopWatch {
			return &loopWatch{bubble: bubble, checks: map[string]int{}, found: func(_ string, first bool) { told = append(told, fmt.Sprint(name, " ", first)) }}
		}
		ws := &watches{running: []*loopWatch{watch("first", "3"), watch("another bubble", "4"), watch("second", "3")}}
		for range 2 * runningChecks {
			for _, report := range ws.checkRunning(runs) {
				report()
			}
		}
		if got, want := strings.Join(told, ", "), "first false, second true, first false, second false"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	})
	t.Run("work begins anew", func(t *testing.T) {
		ws := &watches{running: []*loopWatch{{bubble: "3", checks: map[string]int{}}}}
		for range 3 * runningChecks {
			if len(ws.checkRunning(runs)) > 0 {
				t.Fatal("reported")
			}
			ws.worked(map[string]bool{"3": true})
		}
	})
}
