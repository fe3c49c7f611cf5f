// Code generated from internal/bubble/running.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package bubble

import (
	"regexp"
	"slices"
	"strings"
)

const (
	// runningChecks is the number of checks that must find that a goroutine runs.
	runningChecks = 20
	// runningMiss is the number of checks that are subtracted if a check finds the goroutine in a system call or waiting
	// for another goroutine, as when it logs.
	runningMiss = 4
)

// loopWatch is a bubble in which a goroutine may run without a pause.
type loopWatch struct {
	bubble string
	found  func(stack string, first bool)
	checks map[string]int // number of checks that have found a goroutine running, by its number
	told   bool           // found has been called
}

// outsideHeader matches the number and the state of a goroutine outside of bubbles.
var outsideHeader = regexp.MustCompile(`^goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^\]]*)\]:`)

// WatchRunning watches the caller's bubble until stop is called, if Watch does, too. It calls found, outside of the
// bubble, whenever twenty checks find that a goroutine of the bubble runs, none finds that it sleeps, and the number of
// Watch has not changed meanwhile: it loops, or computes something. If a bubble is watched several times, each function
// is called with the same stack. first is true for only one of all these calls: the first call of the last function.
func WatchRunning(found func(stack string, first bool)) (stop func()) {
	number := current()
	if number == "" || Driven() {
		return func() {}
	}
	r := &loopWatch{bubble: number, found: found, checks: map[string]int{}}
	watched.mu.Lock()
	defer watched.mu.Unlock()
	watched.running = append(watched.running, r)
	return func() {
		watched.mu.Lock()
		defer watched.mu.Unlock()
		watched.running = slices.DeleteFunc(watched.running, func(other *loopWatch) bool { return other == r })
	}
}

// checkRunning counts the running goroutines, and returns the functions to call.
func (ws *watches) checkRunning(text string) (reports []func()) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	stacks := map[string]string{} // by the bubble
	for _, r := range ws.running {
		if stack := r.check(text); stack != "" {
			stacks[r.bubble] = stack
		}
	}
	for bubble, stack := range stacks {
		watching := slices.DeleteFunc(slices.Clone(ws.running), func(r *loopWatch) bool { return r.bubble != bubble })
		for i, r := range watching {
			first := i == len(watching)-1 && !r.told
			reports = append(reports, func() { r.found(stack, first) })
			r.told = true
			clear(r.checks)
		}
	}
	return reports
}

// check counts the running goroutines, and returns the stack of one that never pauses.
func (r *loopWatch) check(text string) (found string) {
	checks := map[string]int{}
	for _, stack := range strings.Split(text, "\n\n") {
		header := goroutineHeader.FindStringSubmatch(stack)
		if header == nil { // the runtime removes a goroutine from its bubble while it helps the garbage collector
			if header = outsideHeader.FindStringSubmatch(stack); header == nil || r.checks[header[1]] == 0 {
				continue
			}
		} else if header[3] != r.bubble {
			continue
		}
		count := r.checks[header[1]]
		switch state, _, _ := strings.Cut(header[2], ", "); {
		case state == "running" || state == "runnable" || state == "preempted" || state == "copystack" || state == "semacquire",
			strings.HasPrefix(state, "sync.") && !strings.HasSuffix(state, "(durable)"), strings.HasPrefix(state, "GC "):
			count++
		case strings.HasPrefix(state, "sleep"):
			count = 0
		default:
			count -= runningMiss
		}
		if count > 0 {
			checks[header[1]] = count
		}
		if count >= runningChecks && found == "" {
			found = strings.TrimSpace(stack)
		}
	}
	r.checks = checks
	return found
}

// worked records that bubbles have done something since the last check.
func (ws *watches) worked(bubbles map[string]bool) {
	for _, r := range ws.running {
		if bubbles[r.bubble] {
			clear(r.checks)
		}
	}
}
