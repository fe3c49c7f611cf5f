// Code generated from explore/recorder.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package explore

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// recorder is the testing.TB of one run. It records what the body and its cluster report, so that a
// failed run does not fail the exploring test.
type recorder struct {
	testing.TB

	mu      sync.Mutex
	failed  bool
	skipped bool
	lines   []string
	tell    func(failed bool, text string) // called for each record; nil: nothing is called
}

func (v *recorder) record(failed bool, text string) {
	text = strings.TrimSuffix(text, "\n")
	v.mu.Lock()
	v.failed = v.failed || failed
	if text != "" {
		v.lines = append(v.lines, text)
	}
	tell := v.tell
	v.mu.Unlock()
	if tell != nil {
		tell(failed, text)
	}
}

// callOnError makes the recorder call f for each later assertion that fails.
func (v *recorder) callOnError(f func(text string)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tell = func(failed bool, text string) {
		if failed && text != "" {
			f(text)
		}
	}
}

// text returns all recorded lines.
func (v *recorder) text() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Join(v.lines, "\n")
}

func (v *recorder) Helper() {}

func (v *recorder) Failed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}

func (v *recorder) Skipped() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.skipped
}

func (v *recorder) Fail()                             { v.record(true, "") }
func (v *recorder) Error(args ...any)                 { v.record(true, fmt.Sprintln(args...)) }
func (v *recorder) Errorf(format string, args ...any) { v.record(true, fmt.Sprintf(format, args...)) }
func (v *recorder) Log(args ...any)                   { v.record(false, fmt.Sprintln(args...)) }
func (v *recorder) Logf(format string, args ...any)   { v.record(false, fmt.Sprintf(format, args...)) }

func (v *recorder) FailNow() {
	v.Fail()
	runtime.Goexit()
}

func (v *recorder) Fatal(args ...any) {
	v.Error(args...)
	runtime.Goexit()
}

func (v *recorder) Fatalf(format string, args ...any) {
	v.Errorf(format, args...)
	runtime.Goexit()
}

func (v *recorder) SkipNow() {
	v.mu.Lock()
	v.skipped = true
	v.mu.Unlock()
	runtime.Goexit()
}

func (v *recorder) Skip(args ...any) {
	v.Log(args...)
	v.SkipNow()
}

func (v *recorder) Skipf(format string, args ...any) {
	v.Logf(format, args...)
	v.SkipNow()
}
