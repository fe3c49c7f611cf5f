package remote

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	bubbles "github.com/fakecluster/fakecluster/remote/internal/bubble"
)

// Package internal/bubble checks every second of real time, outside of bubbles.
const (
	mistakeChecks = 5              // checks after a mistake has failed the test, before the process ends
	endlessChecks = 10             // checks in a row without a request
	endlessTime   = 24 * time.Hour // the bubble's time without a request
)

// watchedBubble is a bubble that is checked from outside. The fields that are not atomic belong to the checks.
type watchedBubble struct {
	bubble *bubble
	number string       // of the bubble, in stacks
	frames atomic.Int64 // until now: while time passes, the pump sends some
	work   atomic.Int64 // requests of clients that show that something goes on
	living atomic.Bool  // Kubernetes' controllers and nodes run, which work without end
	idle   atomic.Int64 // how long no request has come, in the bubble's time
	found  atomic.Pointer[string]
	stops  []func()

	began time.Time // when work last changed, in the bubble's time; only the pump uses it
	done  int64     // work when the pump last looked

	seen, worked    int64
	mistook, noWork int
}

// watchedBubbles has the bubbles whose clusters have not ended.
var watchedBubbles struct {
	sync.Mutex
	list []*watchedBubble
}

// watchBubble checks the bubble of the caller until stop. No code in the bubble can report that its time stands still, or passes without end.
// So the checks print the reason and end the process, or the trial of an exploration.
func watchBubble(b *bubble) *watchedBubble {
	w := &watchedBubble{bubble: b, number: bubbles.Number(), began: time.Now()}
	w.stops = []func(){bubbles.Watch(w.frames.Load, w.standsStill), bubbles.WatchRunning(w.runs), bubbles.Each(w.check)}
	watchedBubbles.Lock()
	defer watchedBubbles.Unlock()
	watchedBubbles.list = append(watchedBubbles.list, w)
	return w
}

// stop says that the clusters have ended.
func (w *watchedBubble) stop() {
	for _, stop := range w.stops {
		stop()
	}
	watchedBubbles.Lock()
	defer watchedBubbles.Unlock()
	var left []*watchedBubble
	for _, other := range watchedBubbles.list {
		if other != w {
			left = append(left, other)
		}
	}
	watchedBubbles.list = left
}

// name is that of a test of the bubble.
func (w *watchedBubble) name() string {
	w.bubble.mu.Lock()
	defer w.bubble.mu.Unlock()
	for _, c := range w.bubble.clusters {
		if c.test != nil {
			return c.test.Name()
		}
	}
	return "fakecluster"
}

// passed is called by the pump when time has passed.
func (w *watchedBubble) passed() {
	if done := w.work.Load(); done != w.done {
		w.done, w.began = done, time.Now()
	}
	w.idle.Store(int64(time.Since(w.began)))
}

// mistaken records a mistake that has failed the test. The test may not notice it.
func (w *watchedBubble) mistaken(text string) { w.found.CompareAndSwap(nil, &text) }

// standsStill reports a goroutine for which the bubble waits.
func (w *watchedBubble) standsStill(b bubbles.Blocked) {
	if trial := w.bubble.trial; trial != nil {
		go trial.tell(map[string]any{"blocked": b.Stack, "reason": b.Mistake()})
		return
	}
	panicBlocked(w.name(), b)
}

func panicBlocked(test string, b bubbles.Blocked) {
	panic(fmt.Sprintf("%s: %s. The goroutine that waits:\n\n%s\n", test, b.Mistake(), b.Stack))
}

// runs prints the stack of a goroutine that may loop without end.
func (w *watchedBubble) runs(stack string, first bool) {
	if first {
		fmt.Fprintf(os.Stderr, "fakecluster: %s: %s. The goroutine that runs:\n\n%s\n\n", w.name(), runsWithoutPause, stack)
	}
}

// runsWithoutPause is not a failure, because the goroutine may compute something.
const runsWithoutPause = "a goroutine in the synctest bubble has run for 20 seconds, and nothing was requested meanwhile. If it loops until something comes: " +
	"write time.Sleep(time.Millisecond) in the loop, because time stands still while it runs, and end it with its context"

// check reports a mistake that has not ended the test, and time that passes without end.
func (w *watchedBubble) check() {
	if found := w.found.Load(); found != nil {
		if w.mistook++; w.mistook > mistakeChecks {
			panic(w.name() + ": " + *found)
		}
	}
	frames, work, idle := w.frames.Load(), w.work.Load(), time.Duration(w.idle.Load())
	if frames == w.seen {
		return
	}
	w.seen = frames
	if work != w.worked || idle < endlessTime || w.living.Load() {
		w.worked, w.noWork = work, 0
		return
	}
	if w.noWork++; w.noWork != endlessChecks {
		return
	}
	if trial := w.bubble.trial; trial != nil {
		go trial.tell(map[string]any{"endless": int64(idle)})
		return
	}
	panic(fmt.Sprintf("%s: time in the synctest bubble passes without end: %d days have passed without a request of the test or its controllers, "+
		"and the test waits for something that does not come: give the loop an end, or write c.WaitFor in its place, or defer hold.Release() if events are held", w.name(), idle/(24*time.Hour)))
}

// watchClients finds clients in bubbles that use a cluster outside of them, until stop is called: their sockets stop the time.
func (c *Cluster) watchClients() (stop func()) {
	return bubbles.WatchOthers(func(b bubbles.Blocked) {
		name := "fakecluster"
		if c.test != nil {
			name = c.test.Name()
		}
		panicBlocked(name, b)
	})
}
