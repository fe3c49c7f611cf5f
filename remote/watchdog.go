package remote

import (
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// In a bubble, no code can report that its time stands still, or passes without end: all timers there are
// virtual, and a goroutine that a bubble starts belongs to it. So a timer of the process, started outside of
// bubbles, checks every second of real time the bubbles that have clusters. Package internal/bubble of the
// main module does the same for clusters in process.
const (
	checkPeriod   = time.Second
	blockedChecks = 3              // checks in a row that find the same blocked goroutine
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
	ended  atomic.Bool  // the clusters have; goroutines of the bubble may be left
	found  atomic.Pointer[string]

	began time.Time // when work last changed, in the bubble's time; only the pump uses it
	done  int64     // work when the pump last looked

	seen, worked             int64
	blocked, mistook, noWork int
	last                     string // the stack of the goroutine that blocks
}

var watchedBubbles struct {
	sync.Mutex
	list []*watchedBubble
}

// blame is called with the mistake of a bubble that cannot continue. Tests replace it.
var blame = func(text string) { panic(text) }

func init() {
	if testing.Testing() {
		// The first signal.Notify of the process starts goroutines, which must not belong to a bubble.
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		signal.Stop(c)
		checkForever()
	}
}

func checkForever() {
	time.AfterFunc(checkPeriod, func() {
		checkBubbles()
		checkForever()
	})
}

// watchBubble adds the bubble of the caller to the bubbles that are checked.
func watchBubble(b *bubble) *watchedBubble {
	w := &watchedBubble{bubble: b, began: time.Now()}
	if header := goroutineHeader.FindStringSubmatch(stacks(false)); header != nil {
		w.number = header[3]
	}
	watchedBubbles.Lock()
	defer watchedBubbles.Unlock()
	watchedBubbles.list = append(watchedBubbles.list, w)
	return w
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

// stop says that the clusters have ended. The bubble is watched until its last goroutine has ended.
func (w *watchedBubble) stop() { w.ended.Store(true) }

// passed is called by the pump when time has passed.
func (w *watchedBubble) passed() {
	if done := w.work.Load(); done != w.done {
		w.done, w.began = done, time.Now()
	}
	w.idle.Store(int64(time.Since(w.began)))
}

// mistaken records a mistake that has failed the test. The test may not notice it.
func (w *watchedBubble) mistaken(text string) { w.found.CompareAndSwap(nil, &text) }

// checkBubbles checks all bubbles, outside of them.
func checkBubbles() {
	watchedBubbles.Lock()
	defer watchedBubbles.Unlock()
	text := ""
	var left []*watchedBubble
	for _, w := range watchedBubbles.list {
		if needs := w.ended.Load() || w.frames.Load() == w.seen; needs && text == "" {
			text = stacks(true)
		}
		if w.ended.Load() && !strings.Contains(text, ", synctest bubble "+w.number+"]:") {
			continue
		}
		if tell := w.check(text); tell != nil {
			go tell()
			continue
		}
		left = append(left, w)
	}
	watchedBubbles.list = left
}

// check returns how to tell what keeps the bubble from its end, or nil.
func (w *watchedBubble) check(text string) (tell func()) {
	if found := w.found.Load(); found != nil && !w.ended.Load() {
		if w.mistook++; w.mistook > mistakeChecks {
			return w.blames(*found)
		}
	}
	if frames := w.frames.Load(); frames != w.seen {
		w.seen, w.blocked = frames, 0
		return w.endless()
	}
	stack := blockedOutside(text, w.number)
	if stack == "" || stack != w.last {
		w.last, w.blocked = stack, 1
		return nil
	}
	if w.blocked++; w.blocked < blockedChecks {
		return nil
	}
	if trial := w.bubble.trial; trial != nil {
		return func() { trial.tell(map[string]any{"blocked": stack, "reason": blockedMistake(stack)}) }
	}
	return w.blames(fmt.Sprintf("%s. The goroutine that waits:\n\n%s\n", blockedMistake(stack), stack))
}

// blames returns how to end the process with a mistake.
func (w *watchedBubble) blames(mistake string) func() {
	return func() { blame(w.name() + ": " + mistake) }
}

// endless returns how to tell that a test waits for something that does not come, or nil.
func (w *watchedBubble) endless() (tell func()) {
	work, idle := w.work.Load(), time.Duration(w.idle.Load())
	if work != w.worked || idle < endlessTime || w.living.Load() {
		w.worked, w.noWork = work, 0
		return nil
	}
	if w.noWork++; w.noWork < endlessChecks {
		return nil
	}
	if trial := w.bubble.trial; trial != nil {
		return func() { trial.tell(map[string]any{"endless": int64(idle)}) }
	}
	return w.blames(fmt.Sprintf("time in the synctest bubble passes without end: %d days have passed without a request of the test or its controllers, "+
		"and the test waits for something that does not come: give the loop an end, or write c.WaitFor in its place, or defer hold.Release() if events are held", idle/(24*time.Hour)))
}

// goroutineHeader finds the number, the state and the bubble of a goroutine, in the first line of its stack.
var goroutineHeader = regexp.MustCompile(`^goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^\]]*), synctest bubble (\d+)\]:`)

// blockedOutside returns the stack of a goroutine of a bubble that waits for something outside of it, which
// stops the time of the bubble. The stack is without the duration of the wait. It returns "" if another
// goroutine of the bubble can run.
func blockedOutside(text, bubble string) (found string) {
	for _, stack := range strings.Split(text, "\n\n") {
		header := goroutineHeader.FindStringSubmatch(stack)
		if header == nil || header[3] != bubble {
			continue
		}
		switch state, since, _ := strings.Cut(header[2], ", "); {
		case strings.HasSuffix(state, "(durable)"):
		case state == "running" || state == "runnable" || state == "syscall" || state == "semacquire" || state == "preempted" || state == "copystack",
			strings.HasPrefix(state, "sync."), strings.HasPrefix(state, "GC "),
			strings.Contains(stack, "remote.(*bubble).exchange("): // the host works
			return ""
		case found == "":
			found = strings.TrimSpace(stack)
			if since != "" {
				found = strings.Replace(found, ", "+since, "", 1)
			}
		}
	}
	return found
}

// blockedMistakes are the usual reasons why the time of a bubble stands still. The first whose text is in the stack of the blocked
// goroutine is the reason.
var blockedMistakes = []struct{ stack, mistake string }{
	{"controller-runtime/pkg/metrics/server.", `a manager serves metrics on a socket: write ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}}`},
	{"controller-runtime/pkg/webhook.", "a manager serves webhooks on a socket: give it a webhook server that does not listen, and its handler to c.ServeWebhooks, as docs/remote.md shows"},
	{"controller-runtime/pkg/manager.(*Server)", `a manager serves health probes or profiles on a socket: write ctrl.Options{HealthProbeBindAddress: "0", PprofBindAddress: "0"}`},
	{"os.(*Process).", "a goroutine waits for another process, which has real time: run it before synctest.Test"},
	{"net/http.(*persistConn)", "an HTTP client has a connection to a server. If that is the cluster, give the client its transport: &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}. " +
		"If it is a server of the test, such as one of httptest: start it before synctest.Test, and give the client a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}"},
	{"net/http.(*http2ClientConn)", "an HTTP client has a connection to a server. If that is the cluster, give the client its transport: &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}"},
	{").Accept(", "a server listens on a socket: start it before synctest.Test, and give its clients a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}"},
	{"internal/poll.", "a goroutine uses a socket or a pipe: open it before synctest.Test, and use it there"},
	{"[chan ", "a goroutine waits for a channel that was created outside of the bubble: create it in the function of synctest.Test"},
	{"[select", "a goroutine waits for a channel that was created outside of the bubble, such as that of a context of the outer test: create it in the function of synctest.Test"},
}

// blockedMistake returns a sentence with the reason why time stands still, and what to write instead.
func blockedMistake(stack string) string {
	const still = "time in the synctest bubble stands still, because "
	for _, m := range blockedMistakes {
		if strings.Contains(stack, m.stack) {
			return still + m.mistake
		}
	}
	return still + "a goroutine waits for something outside of the bubble: create everything that it waits for in the function of synctest.Test"
}

// stacks returns the stack of this goroutine, or of all.
func stacks(everyone bool) string {
	for size := 64 << 10; ; size *= 2 {
		text := make([]byte, size)
		if n := runtime.Stack(text, everyone); n < size {
			return string(text[:n])
		}
	}
}
