package explore

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/callers"
)

// errInBubble is the error of an exploration in a bubble.
var errInBubble = errors.New("each run is a bubble of its own, and bubbles cannot be nested: call it outside of synctest.Test")

// inBubble runs a trial in a testing/synctest bubble, in which its hours take no real time.
func (e *operatorExploration) inBubble(out *outcome, run func(testing.TB)) {
	defer func() {
		// synctest.Test panics so if goroutines are left in the bubble that wait forever.
		if p := recover(); p != nil {
			if !strings.Contains(fmt.Sprint(p), "deadlock") {
				panic(p)
			}
			e.noteLeft(out, stacksIn(out.run.bubbleName()))
		}
	}()
	e.t.bubble(func(t *testing.T) {
		out.run.setBubble(bubbleOf())
		// Watch before the cluster starts, because its own watch would report the subject as if it were a
		// test. The watch lasts until the cluster is closed; otherwise the cluster would read the stacks of
		// all goroutines to find those that are left, which leftOver does.
		t.Cleanup(bubble.Watch(out.run.work, out.run.standsStill))
		defer bubble.WatchPassing(idleTime, func() {}, out.run.work, out.run.passesWithoutEnd)()
		run(t)
		time.Sleep(time.Hour) // lets goroutines that end by themselves end
	})
}

// noteLeft notes the goroutines that are left in a bubble, by their stacks.
func (e *operatorExploration) noteLeft(out *outcome, stacks []string) {
	if left := leftOver(stacks); left != "" && e.subject.checks(NoLeak) {
		out.problems = append(out.problems, problem{oracle: NoLeak, key: "leak", step: -1,
			what: "goroutines wait forever after the operator has ended", detail: left})
	}
}

// idleTime is how long a bubble may go without a request of the operator before that may be an endless loop.
const idleTime = 48 * time.Hour

// standstill returns the message for an operator that waits for something outside of the bubble.
func (e *operatorExploration) standstill(b bubble.Blocked) string {
	text := inSubject.Replace(b.Mistake()) + ". If the operator needs it, explore it in real time: "
	if e.t.begin == nil {
		return text + "write RealTime: time.Second in the explore.Subject. The goroutine that waits:"
	}
	return text + "use package explore of module fakecluster, whose Subject has RealTime. The goroutine that waits:"
}

// inSubject replaces advice for a test by advice for a subject.
var inSubject = strings.NewReplacer("in the function of synctest.Test", "in Subject.Run or Subject.Prepare", "before synctest.Test", "before explore.Operator",
	"write fakecluster.Start(t, fakecluster.InProcess()) in the bubble, and use its RESTConfig()", "use the config that Subject.Run gets")

// work returns a number that changes when the operator sends a request.
func (r *run) work() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(len(r.seen))
}

// bubbleOf returns the name of the bubble of the caller, as it is in the stacks of goroutines.
func bubbleOf() string {
	text := make([]byte, 200)
	_, name, ok := strings.Cut(string(text[:runtime.Stack(text, false)]), "synctest bubble ")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(name, "]")
	return "synctest bubble " + name + "]"
}

// leftByLibraries is a function whose goroutines Kubernetes' libraries leave behind, so that the operator
// cannot end them: a filtered watch, which controller-runtime uses for metadata, leaks if it is stopped while
// it delivers an event (kubernetes/kubernetes#113254).
const leftByLibraries = "k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop("

// leftOver describes the goroutines of the operator among those that are left in a bubble, with the first
// stack, or returns "".
func leftOver(stacks []string) string {
	n := 0
	first := ""
	for _, stack := range stacks {
		if strings.Contains(stack, leftByLibraries) {
			continue
		}
		n++
		if own := callers.LineOfStack(stack); first == "" || own != "" && callers.LineOfStack(first) == "" {
			first = stack
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d goroutines, the first:\n%s", n, first)
}

// stacksIn returns the stacks of the goroutines in a bubble; none if its name is empty.
func stacksIn(bubble string) (stacks []string) {
	if bubble == "" {
		return nil
	}
	text := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(text[:runtime.Stack(text, true)]), "\n\n") {
		if header, _, _ := strings.Cut(stack, "\n"); strings.Contains(header, bubble) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
