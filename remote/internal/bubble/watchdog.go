// Code generated from internal/bubble/watchdog.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package bubble

import (
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// checkPeriod is the real time between two checks.
	checkPeriod = time.Second
	// enoughChecks is the number of consecutive checks that must find the same goroutine.
	enoughChecks = 3
	// waitChecks and callChecks are the numbers for a goroutine that waits for a lock or a connection, and for one in a system
	// call, which may end.
	waitChecks = 10
	callChecks = 30
	// lookFor is how long, in real time, a goroutine that the checks have found is looked at before it is reported, if it
	// waits for HTTP, and answerLook if it waits for an answer, such as that of a database: the moment between two questions is short.
	// lookPause is the pause between two looks.
	lookFor    = 500 * time.Millisecond
	answerLook = 2 * time.Second
	lookPause  = 100 * time.Microsecond
	// endedChecks is the number of checks after the end of a watch before stacks are read for its bubble, which is given
	// time to end.
	endedChecks = 4
)

// Blocked is a goroutine of a bubble that waits for something outside of the bubble, or for a lock that nobody releases.
type Blocked struct {
	// Stack is its stack, as runtime.Stack writes it, without the duration of its waiting.
	Stack string
	// Reason is the sentence of Mistake, if the bubble is in another process.
	Reason string

	number string
	state  string
	checks int           // the number of checks that must find it
	look   time.Duration // how long it is looked at afterwards; 0 for a lock
}

// watch is a bubble that is watched.
type watch struct {
	bubble  string
	work    func() int64 // nil: none
	blocked func(Blocked)
	done    int64 // the result of work at the last check
	last    Blocked
	checks  int // consecutive checks that found last
	ended   bool
	since   int  // checks since it has ended
	other   bool // it was found by WatchOthers
}

// watches are the watched bubbles of the process.
type watches struct {
	checking sync.Mutex // held during a check: a test may call Check during the check of each second

	mu      sync.Mutex
	bubbles []*watch
	running []*loopWatch
	others  otherBubbles
}

var watched watches

func init() {
	if testing.Testing() {
		startSignals()
		checkForever()
	}
}

// startSignals starts the goroutines of package os/signal. The first signal.Notify of the process starts them; if that
// were in a bubble, they would belong to it, and the test would hang or the process end.
func startSignals() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
}

// checkForever checks the watched bubbles every second. It must run outside of bubbles.
func checkForever() {
	time.AfterFunc(checkPeriod, func() {
		Check()
		checkForever()
	})
}

// Watch watches the caller's bubble until stop is called. It calls blocked at most once, outside of the bubble, if the
// bubble's time does not advance: three consecutive checks find the same goroutine waiting in the same place for
// something outside of the bubble, and no running goroutine of the bubble, and then nothing else for half a second or
// two. For a connection that may belong to a database, these are ten checks.
//
// work returns a number that changes when the bubble does something; a check that finds another number does not read
// stacks, which would stop all goroutines. If work is nil, each check reads them. If a bubble is watched several times,
// it has done something if any of the numbers has changed, and only the first function is called. Outside of a bubble,
// Watch does nothing.
//
// It also calls blocked if goroutines of the bubble wait for a lock that no running goroutine can release, or for a
// system call that takes half a minute.
//
// After stop, work is no longer called. But the bubble is watched until its last goroutine has ended, and blocked may be
// called, because a goroutine that waits for something outside would keep the bubble forever.
//
// Bubbles are checked in test binaries, every second of real time.
func Watch(work func() int64, blocked func(Blocked)) (stop func()) {
	number := current()
	if number == "" || Driven() {
		return func() {}
	}
	w := &watch{bubble: number, work: work, blocked: blocked}
	watched.mu.Lock()
	defer watched.mu.Unlock()
	watched.bubbles = append(watched.bubbles, w)
	return func() {
		watched.mu.Lock()
		defer watched.mu.Unlock()
		w.ended = true
	}
}

// Check checks all watched bubbles now. It is for tests, which cannot wait for the next check.
func Check() {
	watched.checking.Lock()
	defer watched.checking.Unlock()
	checkPassing()
	watched.mu.Lock()
	bubbles := slices.Clone(watched.bubbles)
	done := make([]int64, len(bubbles))
	for i, w := range bubbles {
		if w.ended {
			done[i] = w.done
		} else if w.work != nil {
			watched.mu.Unlock()
			done[i] = w.work()
			watched.mu.Lock()
		}
	}
	worked := map[string]bool{} // bubbles
	for i, w := range bubbles {
		if done[i] != w.done {
			worked[w.bubble] = true
		}
	}
	old := false // a bubble is there since the last check, and has done nothing
	for i, w := range bubbles {
		if worked[w.bubble] {
			w.done, w.last, w.checks = done[i], Blocked{}, 0
			continue
		}
		if w.ended {
			w.since++
		}
		old = old || w.checks > 0 && (!w.ended || w.since > endedChecks)
		w.checks = max(w.checks, 1)
	}
	watched.worked(worked)
	looks := watched.others.due()
	watched.mu.Unlock()
	if !old && !looks {
		return
	}
	text := stacks(true)
	if looks {
		watched.addOthers(text)
	}
	for _, report := range append(watched.check(text), watched.checkRunning(text)...) {
		report()
	}
}

// check compares the stacks of all goroutines with those of the last check, and returns the functions to call.
func (ws *watches) check(text string) (reports []func()) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var reported []string
	for _, w := range slices.Clone(ws.bubbles) {
		gone := w.ended && !strings.Contains(text, ", synctest bubble "+w.bubble+"]:")
		if gone || slices.Contains(reported, w.bubble) {
			ws.bubbles = slices.DeleteFunc(ws.bubbles, func(other *watch) bool { return other == w })
			continue
		}
		now := waiting(text, w.bubble)
		if w.other && (now == (Blocked{}) || now != w.last) {
			ws.bubbles = slices.DeleteFunc(ws.bubbles, func(other *watch) bool { return other == w })
			continue
		}
		if now == (Blocked{}) || now != w.last {
			w.last, w.checks = now, 1
			continue
		}
		needs := now.checks
		if w.other {
			needs = otherChecks
		}
		if w.checks++; w.checks < needs {
			continue
		}
		if goesOn(w.bubble, now) {
			w.last, w.checks = Blocked{}, 1
			continue
		}
		reported = append(reported, w.bubble)
		reports = append(reports, func() { w.blocked(now) })
		ws.bubbles = slices.DeleteFunc(ws.bubbles, func(other *watch) bool { return other == w })
	}
	return reports
}

// goesOn reports whether a bubble goes on between the checks that have found the same goroutine, because it waits again and
// again, and time passes in between. An operator that asks a database on a socket every minute, for months of the
// bubble, does so. A lock is not
// looked at: others of the process that run would count.
func goesOn(bubble string, found Blocked) bool {
	for began := time.Now(); time.Since(began) < found.look; time.Sleep(lookPause) {
		if waiting(stacks(true), bubble) != found {
			return true
		}
	}
	return false
}

// waiting returns the goroutine for which a bubble waits; none if it may go on.
func waiting(text, bubble string) Blocked {
	if found := blockedOutside(text, bubble); found != (Blocked{}) {
		return found
	}
	return stuckInside(text, bubble)
}

// goroutineHeader matches the number, the state and the bubble of a goroutine in the first line of its stack.
var goroutineHeader = regexp.MustCompile(`^goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^\]]*), synctest bubble (\d+)\]:`)

// blockedOutside returns a goroutine of a bubble that waits for something outside. It returns none if another goroutine
// of the bubble runs, helps the garbage collector, asks the host of module remote, or waits for a lock whose owner may
// run, perhaps in another bubble.
func blockedOutside(text, bubble string) (found Blocked) {
	for _, stack := range strings.Split(text, "\n\n") {
		header := goroutineHeader.FindStringSubmatch(stack)
		if header == nil || header[3] != bubble {
			continue
		}
		now := blockedAt(header, stack)
		switch state := now.state; {
		case strings.HasSuffix(state, "(durable)"):
		case state == "running" || state == "runnable" || state == "syscall" || state == "semacquire" || state == "preempted" || state == "copystack",
			strings.HasPrefix(state, "sync."), strings.HasPrefix(state, "GC "), asksHost(stack):
			return Blocked{}
		case found.number == "":
			found = now
		}
	}
	return found
}

// stuckInside returns a goroutine of a bubble that is in a system call; else, if no running goroutine can release the locks
// for which goroutines of the bubble wait, one that waits for something outside, or for a lock. It returns none if another
// goroutine of the bubble may continue.
func stuckInside(text, bubble string) (found Blocked) {
	idle := true // outside of the bubble
	for i, stack := range strings.Split(text, "\n\n") {
		header := goroutineHeader.FindStringSubmatch(stack)
		if header == nil || header[3] != bubble {
			idle = idle && (i == 0 || !busy.MatchString(stack) || strings.Contains(stack, "signal_recv")) // the first one checks
			continue
		}
		switch now := blockedAt(header, stack); {
		case strings.HasSuffix(now.state, "(durable)"):
		case now.state == "syscall":
			found = now
		case now.look == 0: // a lock
			if found.number == "" {
				found = now
			}
		case waitsOutside.MatchString(now.state) && !asksHost(stack): // and may have the lock
			if found.number == "" || found.look == 0 {
				now.checks = waitChecks
				found = now
			}
		default:
			return Blocked{}
		}
	}
	if found.state != "syscall" && !idle {
		return Blocked{}
	}
	return found
}

// waitsOutside matches the state of a goroutine that waits for a socket or a channel.
var waitsOutside = regexp.MustCompile(`^(IO wait|chan |select)`)

// asksHost reports whether a goroutine of module remote waits for its host, which answers, or the request fails.
func asksHost(stack string) bool {
	return strings.Contains(stack, "fakecluster/remote.(*bubble).exchange(") || strings.Contains(stack, "fakecluster/remote.openBubble(")
}

// busy matches a goroutine that runs, or may continue by itself.
var busy = regexp.MustCompile(`^goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[(?:running|runnable|syscall|preempted|copystack|sleep|GC )`)

// blockedAt returns the goroutine of a header and a stack, without the duration of its waiting.
func blockedAt(header []string, stack string) Blocked {
	state, since, _ := strings.Cut(header[2], ", ")
	if since != "" {
		stack = strings.Replace(stack, ", "+since, "", 1)
	}
	b := Blocked{Stack: strings.TrimSpace(stack), number: header[1], state: state, checks: enoughChecks, look: answerLook}
	switch {
	case state == "semacquire" || strings.HasPrefix(state, "sync."):
		b.checks, b.look = waitChecks, 0
	case state == "syscall":
		b.checks = callChecks
	case listens(stack) || clientConnection(stack):
		b.look = lookFor
	case state == "IO wait":
		b.checks = waitChecks
	}
	return b
}

// listens reports whether a goroutine waits for the connections of a server.
func listens(stack string) bool { return strings.Contains(stack, ").Accept(") }

// stacks returns the stack of the calling goroutine; with everyone, those of all goroutines.
func stacks(everyone bool) string {
	for size := 64 << 10; ; size *= 2 {
		text := make([]byte, size)
		if n := runtime.Stack(text, everyone); n < size {
			return string(text[:n])
		}
	}
}
