package remote

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// recorder is a test that records its failures and its log.
type recorder struct {
	testing.TB
	failed   bool
	failures []string
	log      []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Failed() bool     { return r.failed }
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(format string, args ...any) {
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// run runs a test and its cleanups.
func (r *recorder) run(test func(testing.TB)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		test(r)
	}()
	<-ended
}

// failures checks that a test fails once, with a text, or does not fail if the text is empty.
func failures(t *testing.T, want string, test func(testing.TB)) {
	t.Helper()
	r := &recorder{TB: t}
	r.run(test)
	switch {
	case want == "" && len(r.failures) > 0:
		t.Errorf("the test fails with %q", r.failures)
	case want != "" && (len(r.failures) != 1 || !strings.Contains(r.failures[0], want)):
		t.Errorf("the test fails with %q, want one failure with %q", r.failures, want)
	}
}
