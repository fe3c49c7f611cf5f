package bubble

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// passingChecks is the number of consecutive checks that must find that a bubble does nothing while its time passes.
	passingChecks = 10
	// passingPauses is the number of these checks in which its time must have passed.
	passingPauses = 2
	// longestPause is the pause after which the watch sets no further timer, so that the runtime reports the deadlock of
	// a bubble that waits for nothing else.
	longestPause = 100 * 365 * 24 * time.Hour
)

// passing is a bubble whose time may pass without end.
type passing struct {
	bubble  string
	look    func()
	work    func() int64
	endless func(time.Duration, string)

	idle   atomic.Int64 // how long the bubble has done nothing, in its time
	pauses atomic.Int64 // number of pauses in which it has done nothing

	mu    sync.Mutex
	timer *time.Timer
	ended bool

	done           int64 // the result of work at the last check
	seen           int64 // pauses at the last check
	checks, passed int   // consecutive checks that found that nothing was done, and those of them in which time had passed
}

var passings struct {
	mu      sync.Mutex
	watched []*passing
}

// WatchPassing watches the caller's bubble until stop is called. It calls endless at most once, outside of the bubble,
// if the bubble does nothing while its time and the real time pass: a loop that sleeps until something happens that
// never does. work returns a number that changes when the bubble does something. It is called in the bubble and outside,
// so it must not use channels of the bubble. look is called in the bubble, before work. pause is the time of the bubble
// between the first two checks. endless gets how long the bubble has done nothing, and the stack of the test's
// goroutine. If a bubble is watched several times, only the first watch is active, until its stop. Outside of a bubble,
// WatchPassing does nothing.
func WatchPassing(pause time.Duration, look func(), work func() int64, endless func(idle time.Duration, stack string)) (stop func()) {
	number := current()
	if number == "" || Driven() {
		return func() {}
	}
	p := &passing{bubble: number, look: look, work: work, endless: endless}
	p.wait(pause, pause, 0, work())
	passings.mu.Lock()
	defer passings.mu.Unlock()
	passings.watched = append(passings.watched, p)
	return func() {
		p.mu.Lock()
		p.ended = true
		p.timer.Stop()
		p.mu.Unlock()
		passings.mu.Lock()
		defer passings.mu.Unlock()
		passings.watched = slices.DeleteFunc(passings.watched, func(other *passing) bool { return other == p })
	}
}

// wait checks after a pause whether the bubble has done something. If not, the next pause is twice as long, so that a
// bubble that only waits for these is soon in a deadlock.
func (p *passing) wait(first, pause, idle time.Duration, done int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || pause > longestPause {
		return
	}
	p.timer = time.AfterFunc(pause, func() {
		p.look()
		if now := p.work(); now != done {
			p.wait(first, first, 0, now)
			return
		}
		p.idle.Store(int64(idle + pause))
		p.pauses.Add(1)
		p.wait(first, 2*pause, idle+pause, done)
	})
}

// checkPassing checks the bubbles of WatchPassing.
func checkPassing() {
	passings.mu.Lock()
	watched := slices.Clone(passings.watched)
	passings.mu.Unlock()
	var checked []string // bubbles
	for _, p := range watched {
		if slices.Contains(checked, p.bubble) {
			continue
		}
		checked = append(checked, p.bubble)
		if !p.check() {
			continue
		}
		stack := stackOfTest(p.bubble)
		if stack == "" && p.checks < 2*passingChecks { // the runtime has no stack of a goroutine that returns from a system call
			continue
		}
		passings.mu.Lock()
		there := slices.Contains(passings.watched, p)
		passings.watched = slices.DeleteFunc(passings.watched, func(other *passing) bool { return other.bubble == p.bubble })
		passings.mu.Unlock()
		if there {
			p.endless(time.Duration(p.idle.Load()), stack)
		}
	}
}

// check reports whether the bubble does nothing while its time passes.
func (p *passing) check() bool {
	done, pauses := p.work(), p.pauses.Load()
	if done != p.done {
		p.done, p.seen, p.checks, p.passed = done, pauses, 0, 0
		return false
	}
	p.checks++
	if pauses != p.seen {
		p.seen = pauses
		p.passed++
	}
	return p.checks >= passingChecks && p.passed >= passingPauses
}

// stackOfTest returns the stack of the goroutine that runs the test of a bubble; empty: it has ended, or the runtime
// does not have it now.
func stackOfTest(bubble string) string {
	for stack := range strings.SplitSeq(stacks(true), "\n\n") {
		if header := goroutineHeader.FindStringSubmatch(stack); header != nil && header[3] == bubble && strings.Contains(stack, "\ntesting.tRunner(") &&
			!strings.HasPrefix(header[2], "synctest.Run") { // the test outside

			return strings.TrimSpace(stack)
		}
	}
	return ""
}
