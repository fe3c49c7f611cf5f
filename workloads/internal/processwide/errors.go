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
	for i, h := range utilruntime.ErrorHandlers {
		if f := runtime.FuncForPC(reflect.ValueOf(h).Pointer()); f != nil && strings.HasSuffix(f.Name(), ".logError") {
			utilruntime.ErrorHandlers[i] = exceptControllers(h)
		}
	}
}

// exceptControllers returns a handler that ignores errors of Kubernetes' controllers without a context.
func exceptControllers(h utilruntime.ErrorHandler) utilruntime.ErrorHandler {
	return func(ctx context.Context, err error, msg string, keysAndValues ...any) {
		if ctx != context.Background() || !calledByController() {
			h(ctx, err, msg, keysAndValues...)
		}
	}
}

// calledByController reports whether one of Kubernetes' controllers, or its scheduler, has called an error handler.
func calledByController() bool {
	counters := make([]uintptr, 16)
	frames := runtime.CallersFrames(counters[:runtime.Callers(3, counters)])
	for {
		f, more := frames.Next()
		if isController(f.Function) {
			return true
		}
		if !more {
			return false
		}
	}
}

// isController reports whether a function is of one of Kubernetes' controllers, or of its scheduler.
func isController(function string) bool {
	return slices.ContainsFunc([]string{"k8s.io/kubernetes/pkg/controller", "k8s.io/kubernetes/pkg/scheduler", "k8s.io/cloud-provider/controllers/"}, func(prefix string) bool {
		return strings.HasPrefix(function, prefix)
	})
}
