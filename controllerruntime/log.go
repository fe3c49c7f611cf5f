package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// testLog writes the errors of a manager to the log of a test, until the test ends. It writes a repeated
// error once, and its count at the end.
type testLog struct {
	t        testing.TB
	requeues requeues

	mu    sync.Mutex
	again map[string]int // how often each line was repeated
	order []string       // the lines, in the order in which they came
	stops bool           // the manager is being stopped, which cancels the requests of its controllers
	ended bool
}

// logger returns a logger that drops all lines except errors, and counts the lines about requeues.
func (l *testLog) logger() logr.Logger { return logr.New(errorsOnly{log: l}) }

// write writes a line, and below it the stack of a panic, if it is not empty.
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

// fail fails the test, unless it has ended.
func (l *testLog) fail(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.t.Errorf("controllerruntime: %s", line)
	}
}

func (l *testLog) stopping() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stops = true
}

// drops reports whether an error comes only from the stop of the manager.
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

// errorsOnly is a logr.LogSink that writes errors only, with the controller and the object that they are
// about.
type errorsOnly struct {
	log    *testLog
	values []any
}

func (errorsOnly) Init(logr.RuntimeInfo) {}

func (errorsOnly) Enabled(level int) bool { return level == requeueLevel }

// Info counts requeues of an object.
func (s errorsOnly) Info(level int, message string, _ ...any) {
	if level != requeueLevel || !strings.HasPrefix(message, "Reconcile ") {
		return
	}
	about, _ := describe(s.values)
	if len(about) == 0 {
		return
	}
	finding, fails, waits := s.log.requeues.reconciled(about[0], strings.Join(about, ", "), message)
	switch {
	case finding == "":
	case fails:
		s.log.fail(finding)
	default:
		s.log.write(finding, "")
	}
	if waits {
		time.Sleep(endlessPause)
	}
}

func (s errorsOnly) WithName(string) logr.LogSink { return s }

func (s errorsOnly) WithValues(keysAndValues ...any) logr.LogSink {
	return errorsOnly{s.log, append(append([]any(nil), s.values...), keysAndValues...)}
}

// Error writes a line such as: Reconciler error: the object has been modified (controller op, object default/a).
func (s errorsOnly) Error(err error, message string, keysAndValues ...any) {
	if s.log.drops(err) {
		return
	}
	about, stack := describe(append(append([]any(nil), s.values...), keysAndValues...))
	line := message
	if err != nil {
		line += ": " + advised(err).Error()
	}
	if len(about) > 0 {
		line += " (" + strings.Join(about, ", ") + ")"
	}
	s.log.write(line, stack)
}

// describe returns the controller and the object in the values of a line, and the stack of a panic, or "".
func describe(values []any) (about []string, stack string) {
	var namespace, name any
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
	return about, stack
}
