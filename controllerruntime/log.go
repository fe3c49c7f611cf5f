package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
)

// testLog writes the errors of a manager into the log of a test, until the test ends. An error that comes again is
// written once, with a count at the end.
type testLog struct {
	t     testing.TB
	mu    sync.Mutex
	again map[string]int // by line; 0: it came once
	order []string
	stops bool // the manager is being stopped, which cancels the requests of its controllers
	ended bool
}

// logger returns a logger that drops all lines except for errors.
func (l *testLog) logger() logr.Logger { return logr.New(errorsOnly{log: l}) }

// write writes a line, and below it the stack of a panic, if there is one.
func (l *testLog) write(line, stack string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	if _, seen := l.again[line]; seen {
		l.again[line]++
		return
	}
	if l.again == nil {
		l.again = map[string]int{}
	}
	l.again[line] = 0
	l.order = append(l.order, line)
	if stack != "" {
		stack = "\n" + stack
	}
	l.t.Logf("controllerruntime: %s%s", line, stack)
}

func (l *testLog) stopping() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stops = true
}

// drops reports whether an error is only that the manager is being stopped.
func (l *testLog) drops(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stops && errors.Is(err, context.Canceled)
}

func (l *testLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, line := range l.order {
		if n := l.again[line]; n > 0 {
			l.t.Logf("controllerruntime: %d times more: %s", n, line)
		}
	}
}

// errorsOnly is a sink without information. Of the values it keeps those that say which controller and which object an
// error is about.
type errorsOnly struct {
	log    *testLog
	values []any
}

func (errorsOnly) Init(logr.RuntimeInfo) {}

func (errorsOnly) Enabled(int) bool { return false }

func (errorsOnly) Info(int, string, ...any) {}

func (s errorsOnly) WithName(string) logr.LogSink { return s }

func (s errorsOnly) WithValues(keysAndValues ...any) logr.LogSink {
	return errorsOnly{s.log, append(append([]any(nil), s.values...), keysAndValues...)}
}

// Error writes a line such as: Reconciler error: the object has been modified (controller op, object default/a).
func (s errorsOnly) Error(err error, message string, keysAndValues ...any) {
	if s.log.drops(err) {
		return
	}
	var about []string
	var namespace, name any
	stack := ""
	values := append(append([]any(nil), s.values...), keysAndValues...)
	for i := 0; i+1 < len(values); i += 2 {
		switch key := fmt.Sprint(values[i]); key {
		case "namespace":
			namespace = values[i+1]
		case "name":
			name = values[i+1]
		case "stacktrace":
			stack = fmt.Sprint(values[i+1])
		case "controller", "panic", "source", "kind":
			if text := fmt.Sprint(key, " ", values[i+1]); len(about) == 0 || about[len(about)-1] != text {
				about = append(about, text)
			}
		}
	}
	switch {
	case name == nil:
	case namespace == nil || namespace == "":
		about = append(about, fmt.Sprint("object ", name))
	default:
		about = append(about, fmt.Sprint("object ", namespace, "/", name))
	}
	line := message
	if err != nil {
		line += ": " + err.Error()
	}
	if len(about) > 0 {
		line += " (" + strings.Join(about, ", ") + ")"
	}
	s.log.write(line, stack)
}
