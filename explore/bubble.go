package explore

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/internal/bubble"
)

// errInBubble is the error of an exploration in a bubble.
var errInBubble = errors.New("each run is a bubble of its own, and bubbles cannot be nested: call it outside of synctest.Test")

// inBubble runs a trial in a testing/synctest bubble, in which the hours that it takes pass at once.
func (e *operatorExploration) inBubble(out *outcome, run func(testing.TB)) {
	defer func() {
		// The runtime ends a bubble so if goroutines that are left in it wait forever.
		if p := recover(); p != nil {
			if !strings.Contains(fmt.Sprint(p), "deadlock") {
				panic(p)
			}
			if left := leftOver(out.run.bubbleName()); left != "" && e.subject.checks(NoLeak) {
				out.problems = append(out.problems, problem{oracle: NoLeak, key: "leak", step: -1,
					what: "goroutines wait forever after the operator has ended", detail: left})
			}
		}
	}()
	synctest.Test(e.t, func(t *testing.T) {
		out.run.setBubble(bubbleOf())
		// Watch before the cluster starts: its own watch would report the subject as if it were a test. The watch lasts until the cluster is closed,
		// which otherwise reads the stacks of all goroutines to find what is left; leftOver finds it.
		t.Cleanup(bubble.Watch(out.run.work, out.run.standsStill))
		defer bubble.WatchPassing(idleTime, func() {}, out.run.work, out.run.passesWithoutEnd)()
		run(t)
		time.Sleep(time.Hour) // what ends by itself has ended then
	})
}

// idleTime is how much time of a bubble has to pass without a request of the operator until that may be a loop without end.
const idleTime = 48 * time.Hour

// standstill says what is wrong with an operator that waits for something outside of the bubble.
func standstill(b bubble.Blocked) string {
	return inSubject.Replace(b.Mistake()) + ". If the operator needs it, explore it in real time: write RealTime: time.Second in the explore.Subject. The goroutine that waits:"
}

// inSubject replaces what to write in a test by what to write in a subject.
var inSubject = strings.NewReplacer("in the function of synctest.Test", "in Subject.Run or Subject.Prepare", "before synctest.Test", "before explore.Operator",
	"write fakecluster.Start(t, fakecluster.InProcess()) in the bubble, and use its RESTConfig()", "use the config that Subject.Run gets")

// work is a number that changes when the operator does something.
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

// leftByLibraries is the function of goroutines that Kubernetes' libraries leave behind, so that the operator cannot end them: a filtered
// watch, which controller-runtime has for metadata, that is stopped with an event under way (kubernetes/kubernetes#113254).
const leftByLibraries = "k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop("

// leftOver returns the first goroutine of the operator that is left in a bubble; empty: there is none.
func leftOver(bubble string) string {
	n := 0
	first := ""
	for _, stack := range stacksIn(bubble) {
		if strings.Contains(stack, leftByLibraries) {
			continue
		}
		n++
		if own := lineOfStack(stack); first == "" || own != "" && lineOfStack(first) == "" {
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
