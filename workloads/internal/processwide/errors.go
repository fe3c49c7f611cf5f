package processwide

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"strings"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

func init() {
	utilruntime.ErrorHandlers = slices.DeleteFunc(utilruntime.ErrorHandlers, func(h utilruntime.ErrorHandler) bool {
		return strings.Contains(runtime.FuncForPC(reflect.ValueOf(h).Pointer()).Name(), "backoffError")
	})
	for i, h := range utilruntime.ErrorHandlers {
		utilruntime.ErrorHandlers[i] = func(ctx context.Context, err error, msg string, keysAndValues ...any) {
			if ctx != context.Background() || !ofController() {
				h(ctx, err, msg, keysAndValues...)
			}
		}
	}
}

// ofController reports whether one of Kubernetes' controllers, or its scheduler, has called an error handler.
func ofController() bool {
	counters := make([]uintptr, 16)
	frames := runtime.CallersFrames(counters[:runtime.Callers(3, counters)])
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "k8s.io/kubernetes/pkg/controller") || strings.HasPrefix(f.Function, "k8s.io/kubernetes/pkg/scheduler") {
			return true
		}
		if !more {
			return false
		}
	}
}
