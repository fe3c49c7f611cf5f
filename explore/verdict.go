package explore

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// verdict is the test that a body and its cluster see in one run. What they report is kept, so that a
// run which fails does not fail the test that explores.
type verdict struct {
	testing.TB

	mu      sync.Mutex
	failed  bool
	skipped bool
	lines   []string
}

func (v *verdict) say(failed bool, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed = v.failed || failed
	if text = strings.TrimSuffix(text, "\n"); text != "" {
		v.lines = append(v.lines, text)
	}
}

// text is all that has been said.
func (v *verdict) text() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Join(v.lines, "\n")
}

func (v *verdict) Helper() {}

func (v *verdict) Failed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}

func (v *verdict) Skipped() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.skipped
}

func (v *verdict) Fail()                             { v.say(true, "") }
func (v *verdict) Error(args ...any)                 { v.say(true, fmt.Sprintln(args...)) }
func (v *verdict) Errorf(format string, args ...any) { v.say(true, fmt.Sprintf(format, args...)) }
func (v *verdict) Log(args ...any)                   { v.say(false, fmt.Sprintln(args...)) }
func (v *verdict) Logf(format string, args ...any)   { v.say(false, fmt.Sprintf(format, args...)) }

func (v *verdict) FailNow() {
	v.Fail()
	runtime.Goexit()
}

func (v *verdict) Fatal(args ...any) {
	v.Error(args...)
	runtime.Goexit()
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.Errorf(format, args...)
	runtime.Goexit()
}

func (v *verdict) SkipNow() {
	v.mu.Lock()
	v.skipped = true
	v.mu.Unlock()
	runtime.Goexit()
}

func (v *verdict) Skip(args ...any) {
	v.Log(args...)
	v.SkipNow()
}

func (v *verdict) Skipf(format string, args ...any) {
	v.Logf(format, args...)
	v.SkipNow()
}
