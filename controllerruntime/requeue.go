package controllerruntime

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// requeueLevel is the level at which controller-runtime logs the result of a reconciliation.
	requeueLevel = 5
	// requeued is the text that it logs then, before the duration.
	requeued = "Reconcile done, requeueing after "

	// manyRequeues in a row with a RequeueAfter of at most shortRequeue are reported.
	shortRequeue = 10 * time.Millisecond
	manyRequeues = 200
	// endlessRequeues within a second fail the test: it would not end, because in a bubble time hardly passes.
	endlessRequeues = 20_000
	// endlessPause is how long each reconciliation takes after that, so that the test can end.
	endlessPause = time.Second
)

// requeues counts how often the objects of a manager are requeued without a pause.
type requeues struct {
	mu     sync.Mutex
	series map[string]*series // by controller and object
	found  map[string]bool    // controllers with a finding
}

// series counts the requeues of an object in a row.
type series struct {
	count  int
	second time.Time // when the current second began
	within int       // requeues in that second
	failed bool      // the test has failed for them
}

// reconciled counts a reconciliation. It returns a finding, or ""; whether the finding fails the test; and
// whether the reconciliation must pause.
func (r *requeues) reconciled(controller, about, message string) (finding string, fails, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, again := strings.CutPrefix(message, requeued)
	after, err := time.ParseDuration(text)
	if !again || err != nil || after > shortRequeue {
		delete(r.series, about)
		return "", false, false
	}
	s := r.series[about]
	if s == nil {
		if r.series == nil {
			r.series, r.found = map[string]*series{}, map[string]bool{}
		}
		s = &series{}
		r.series[about] = s
	}
	if now := time.Now(); now.Sub(s.second) >= time.Second {
		s.second, s.within = now, 0
	}
	s.count++
	s.within++
	const advice = "watch what it waits for, with .Owns or .Watches, or return a longer RequeueAfter"
	switch {
	case s.failed:
		return "", false, true
	case s.within == endlessRequeues:
		s.failed = true
		return fmt.Sprintf("requeued %d times within a second, and the test would not end: %s (%s)", s.within, advice, about), true, true
	case s.count == manyRequeues && !r.found[controller]:
		r.found[controller] = true
		return fmt.Sprintf("requeued %d times in a row, with RequeueAfter: %v: %s (%s)", s.count, after, advice, about), false, false
	}
	return "", false, false
}
