package main

import (
	"io"
	"runtime"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// logOwn makes klog write the messages of fakecluster's packages and drop all others. Kubernetes' libraries
// log what users of a real cluster do not see either, such as closed connections, and conflicts that a
// controller retries. Users get their errors in responses, statuses and Events.
func logOwn(to io.Writer) {
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(to)))
	klog.SetLogger(logr.New(ownSink{logger.GetSink()}).WithCallDepth(1))
}

// ownSink drops the messages of other packages.
type ownSink struct{ logr.LogSink }

// Info implements logr.LogSink.
func (s ownSink) Info(level int, msg string, keysAndValues ...any) {
	if loggedByOwn() {
		s.LogSink.Info(level, msg, keysAndValues...)
	}
}

// Error implements logr.LogSink.
func (s ownSink) Error(err error, msg string, keysAndValues ...any) {
	if loggedByOwn() {
		s.LogSink.Error(err, msg, keysAndValues...)
	}
}

// WithCallDepth implements logr.CallDepthLogSink.
func (s ownSink) WithCallDepth(depth int) logr.LogSink {
	if deeper, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		s.LogSink = deeper.WithCallDepth(depth)
	}
	return s
}

// WithName implements logr.LogSink.
func (s ownSink) WithName(name string) logr.LogSink { return ownSink{s.LogSink.WithName(name)} }

// WithValues implements logr.LogSink.
func (s ownSink) WithValues(keysAndValues ...any) logr.LogSink {
	return ownSink{s.LogSink.WithValues(keysAndValues...)}
}

// loggedByOwn reports whether the caller of the logger is a package of fakecluster.
func loggedByOwn() bool {
	counters := make([]uintptr, 16)
	frames := runtime.CallersFrames(counters[:runtime.Callers(4, counters)]) // after loggedByOwn, the sink and the logger
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "k8s.io/klog/") && !strings.HasPrefix(f.Function, "github.com/go-logr/") {
			return strings.HasPrefix(f.Function, "github.com/fakecluster/fakecluster/") || strings.HasPrefix(f.Function, "main.")
		}
		if !more {
			return false
		}
	}
}
