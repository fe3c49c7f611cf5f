package bubble

import (
	"strings"
	"time"
)

// leftBehind has the usual goroutines that wait forever when a test ends. The first entry whose text is in the stack of
// a goroutine is the mistake.
var leftBehind = []struct{ stack, mistake string }{
	{"controller-runtime/pkg/", "a manager or a cache of controller-runtime is never stopped: start it with t.Context(), or run it with controllerruntime.Run"},
	{"k8s.io/client-go/tools/cache.", "an informer is never stopped: start it with the context of the test, as factory.Start(t.Context().Done())"},
	{"k8s.io/apimachinery/pkg/watch.(*StreamWatcher)", "a watch is never stopped: write defer w.Stop()"},
	{"k8s.io/client-go/util/workqueue.", "a queue is never shut down: write defer queue.ShutDown()"},
}

// Left returns a known mistake because of which a goroutine of the caller's bubble waits forever, with its stack. It is
// for the goroutine of a test at its end, because the runtime's own error does not say what to do. The result is empty
// without such a goroutine, if the bubble has another watched cluster, which the test still has to close, and in a
// bubble of [Drive]. Left sleeps for a millisecond of the bubble's time, so that goroutines which are about to end have
// ended.
func Left() (mistake, stack string) {
	own := goroutineHeader.FindStringSubmatch(stacks(false))
	if own == nil || !Inside() || Driven() {
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
