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

// A goroutine that waits for a socket stops the time of its bubble, and with it the test: go test times out ten
// minutes later, with the stacks of all goroutines. The usual cause is the metrics server of
// a manager. So the bubble of a controller is checked from outside.

// StallCheckPeriod is the real time between two checks of a bubble. Shorter tests are not checked.
const StallCheckPeriod = 5 * time.Second

// PlaySupervised calls play, which plays a scenario with its bubble, and calls stuck if the time of the bubble
// does not advance: two checks in a row find the same goroutine waiting in the same place for something
// outside the bubble, and none that runs. It returns when play has returned.
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

// blockedGoroutine is a goroutine of a bubble that waits for what is outside of it. The stack does not include the duration.
type blockedGoroutine struct{ goroutine, stack string }

// goroutineHeader finds the number, the state and the bubble of a goroutine, in the first line of its stack.
var goroutineHeader = regexp.MustCompile(`^goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^\]]*), synctest bubble (\d+)\]:`)

// blockedOutside returns a goroutine of a bubble whose waiting stops the time of the bubble. It returns none if another
// goroutine of the bubble runs, helps the garbage collector, or waits for a lock: the owner of the lock runs, perhaps in
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

// StallMessage is the message for a scenario whose time does not advance.
func StallMessage(s *syntax.Scenario, stack string) string {
	return fmt.Sprintf("%s: %s: time in the bubble does not advance, because the controller waits for something outside the bubble. "+
		"In a bubble a manager must not serve metrics, probes or webhooks: ctrl.Options{Metrics: metricsserver.Options{BindAddress: \"0\"}}. "+
		"The goroutine that waits:\n\n%s\n", s.Position, s.Title(), stack)
}
