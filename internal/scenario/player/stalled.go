package player

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// A goroutine that waits for a socket stops the time of its bubble for good, and with it the test: until go
// test gives up, ten minutes later, with the stacks of everything. The usual one is the server of a manager's
// metrics. So the bubble of a controller is looked at from outside.

// StallCheckPeriod is the real time between two looks at a bubble. Tests that take less are not looked at.
const StallCheckPeriod = 5 * time.Second

// PlaySupervised calls play, which plays a scenario with its bubble, and calls stuck if the time of the bubble
// stands still meanwhile: two looks in a row find the same goroutine waiting in the same place for what is
// outside, and none that runs. It returns when play has returned.
func PlaySupervised(with Player, period time.Duration, stuck func(stack string), play func(Player) Result) Result {
	if with.Bubble == nil || with.Controller == nil {
		return play(with)
	}
	var id atomic.Pointer[string]
	bubble := with.Bubble
	with.Bubble = func(f func()) error {
		return bubble(func() {
			if own := goroutineHeader.FindStringSubmatch(stacks(false)); own != nil {
				id.Store(&own[3])
			}
			f()
		})
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		var before blockedGoroutine
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			var now blockedGoroutine
			if of := id.Load(); of != nil {
				now = blockedOutside(stacks(true), *of)
			}
			if now.goroutine != "" && now == before {
				stuck(now.stack)
				return
			}
			before = now
		}
	}()
	defer func() {
		close(done)
		<-ended
	}()
	return play(with)
}

// blockedGoroutine is a goroutine of a bubble that waits for what is outside of it. Its stack does not say how long.
type blockedGoroutine struct{ goroutine, stack string }

// goroutineHeader finds the number, the state and the bubble of a goroutine, in the first line of its stack.
var goroutineHeader = regexp.MustCompile(`^goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^\]]*), synctest bubble (\d+)\]:`)

// blockedOutside returns a goroutine of a bubble whose waiting keeps its time from passing. There is none as
// long as another of them runs, helps the garbage collector, or waits for a lock: whoever has the lock runs, perhaps in
// another bubble.
func blockedOutside(all, bubble string) (found blockedGoroutine) {
	for stack := range strings.SplitSeq(all, "\n\n") {
		header := goroutineHeader.FindStringSubmatch(stack)
		if header == nil || header[3] != bubble {
			continue
		}
		switch state, since, _ := strings.Cut(header[2], ", "); {
		case strings.HasSuffix(state, "(durable)"):
		case state == "running" || state == "runnable" || state == "syscall" || state == "semacquire" || state == "preempted" || state == "copystack",
			strings.HasPrefix(state, "sync."), strings.HasPrefix(state, "GC "):
			return blockedGoroutine{}
		case found.goroutine == "":
			if since != "" {
				stack = strings.Replace(stack, ", "+since, "", 1)
			}
			found = blockedGoroutine{header[1], stack}
		}
	}
	return found
}

// stacks returns the stack of this goroutine, or of all.
func stacks(all bool) string {
	for size := 64 << 10; ; size *= 2 {
		text := make([]byte, size)
		if n := runtime.Stack(text, all); n < size {
			return string(text[:n])
		}
	}
}

// StallMessage is what is said of a scenario whose time stands still.
func StallMessage(s *syntax.Scenario, stack string) string {
	return fmt.Sprintf("%s: %s: the time of the bubble stands still, because its controller waits for what is outside of it. "+
		"A manager must not serve metrics, probes or webhooks there: ctrl.Options{Metrics: metricsserver.Options{BindAddress: \"0\"}}. "+
		"This is what waits:\n\n%s\n", s.Position, s.Title(), stack)
}
