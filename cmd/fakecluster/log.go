package main

import (
	"io"
	"runtime"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// logOwn makes klog write what the packages of fakecluster log, and drop the rest: Kubernetes' libraries log what a user of a cluster does not
// see either, such as a connection that its client has closed and conflicts that a controller tries again. Their errors are in answers, statuses and Events.
func logOwn(to io.Writer) {
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(to)))
	klog.SetLogger(logr.New(ownSink{logger.GetSink()}).WithCallDepth(1))
}

// ownSink drops what other packages log.
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
