package bubble

import (
	"strings"
	"time"
)

// leftBehind are the usual goroutines that wait for ever when a test ends. The first whose text is in the stack of one is what is left.
var leftBehind = []struct{ stack, mistake string }{
	{"controller-runtime/pkg/", "a manager or a cache of controller-runtime is never stopped: start it with t.Context(), or run it with controllerruntime.Run"},
	{"k8s.io/client-go/tools/cache.", "an informer is never stopped: start it with the context of the test, as factory.Start(t.Context().Done())"},
	{"k8s.io/apimachinery/pkg/watch.(*StreamWatcher)", "a watch is never stopped: write defer w.Stop()"},
	{"k8s.io/client-go/util/workqueue.", "a queue is never shut down: write defer queue.ShutDown()"},
}

// Left says what waits for ever in the bubble of the caller, which is the goroutine of a test that ends, with its stack. It is empty if nothing does that is known, and if
// another watched cluster is there, which the test still ends. It is for the end of a test: the runtime ends a bubble in which goroutines wait with a text that does not say what to do.
// Left lets a millisecond of the bubble's time pass, so that what is about to end has ended.
func Left() (mistake, stack string) {
	own := goroutineHeader.FindStringSubmatch(stacks(false))
	if own == nil || !Inside() {
		return "", ""
	}
	watched.mu.Lock()
	for _, w := range watched.bubbles {
		if w.bubble == own[3] && !w.ended {
			watched.mu.Unlock()
			return "", ""
		}
	}
	watched.mu.Unlock()
	time.Sleep(time.Millisecond)
	goroutines := strings.Split(stacks(true), "\n\n")
	for _, m := range leftBehind {
		for _, stack := range goroutines {
			header := goroutineHeader.FindStringSubmatch(stack)
			if header != nil && header[3] == own[3] && header[1] != own[1] && !strings.HasPrefix(header[2], "sleep") && strings.Contains(stack, m.stack) {
				return m.mistake, strings.TrimSpace(stack)
			}
		}
	}
	return "", ""
}
