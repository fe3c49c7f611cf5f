package controllerruntime

import (
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// testLog writes the errors of a manager into the log of a test, until the test ends.
type testLog struct {
	t     testing.TB
	mu    sync.Mutex
	ended bool
}

// logger returns a logger that drops all lines except for errors.
func (l *testLog) logger() logr.Logger {
	return logr.New(errorsOnly{funcr.New(l.write, funcr.Options{}).GetSink()})
}

func (l *testLog) write(prefix, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.t.Logf("%s: %s", prefix, args)
	}
}

func (l *testLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// errorsOnly is a sink without information.
type errorsOnly struct{ logr.LogSink }

func (errorsOnly) Enabled(int) bool { return false }

func (errorsOnly) Info(int, string, ...any) {}

func (s errorsOnly) WithValues(keysAndValues ...any) logr.LogSink {
	return errorsOnly{s.LogSink.WithValues(keysAndValues...)}
}

func (s errorsOnly) WithName(name string) logr.LogSink { return errorsOnly{s.LogSink.WithName(name)} }
