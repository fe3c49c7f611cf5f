package clientgo

import (
	"context"
	"reflect"
	"runtime"
	"strings"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/fakecluster/fakecluster/internal/bubble"
)

// init wraps the error handler of client-go that waits until a millisecond has passed since the previous
// error. That handler compares times of different clocks: after an error outside of bubbles, the first error
// in a bubble would wait for 26 years, because the clock of a bubble begins in the year 2000. The wrapped
// handler does nothing in bubbles.
func init() {
	for i, handler := range utilruntime.ErrorHandlers {
		if isBackoff(handler) {
			utilruntime.ErrorHandlers[i] = onlyOutside(handler)
		}
	}
}

// isBackoff reports whether a handler is the one that waits.
func isBackoff(handler utilruntime.ErrorHandler) bool {
	f := runtime.FuncForPC(reflect.ValueOf(handler).Pointer())
	return f != nil && strings.HasPrefix(f.Name(), "k8s.io/apimachinery/pkg/util/runtime.") && strings.Contains(f.Name(), "backoffError")
}

// onlyOutside returns a handler that does nothing in bubbles.
func onlyOutside(handler utilruntime.ErrorHandler) utilruntime.ErrorHandler {
	return func(ctx context.Context, err error, msg string, keysAndValues ...any) {
		if !bubble.Inside() {
			handler(ctx, err, msg, keysAndValues...)
		}
	}
}
