package remote

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TB returns a test that behaves as t, and also reports the first failed assertion to the cluster, for the
// page of FAKECLUSTER_REPORT. Pass it to assertions: assert.New(c.TB(t)).
//
// If code in a testing/synctest bubble passes the t of the test outside of the bubble, TB fails that test
// with t.Fatal.
func (c *Cluster) TB(t testing.TB) testing.TB {
	t.Helper()
	checkTest(t)
	return &reportingTB{t, c}
}

// reportingTB is a test whose failed assertions are reported to a cluster.
type reportingTB struct {
	testing.TB
	c *Cluster
}

// report reports an assertion to the host. It ignores errors, because they only affect the page.
func (t *reportingTB) report(message string) {
	_ = t.c.do("POST", "/failure", map[string]string{"message": assertedAt() + message}, nil)
}

func (t *reportingTB) Error(args ...any) {
	t.Helper()
	t.report(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	t.TB.Error(args...)
}

func (t *reportingTB) Errorf(format string, args ...any) {
	t.Helper()
	t.report(fmt.Sprintf(format, args...))
	t.TB.Errorf(format, args...)
}

func (t *reportingTB) Fatal(args ...any) {
	t.Helper()
	t.report(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	t.TB.Fatal(args...)
}

func (t *reportingTB) Fatalf(format string, args ...any) {
	t.Helper()
	t.report(fmt.Sprintf(format, args...))
	t.TB.Fatalf(format, args...)
}

// assertedAt returns the file and line of the innermost caller in a test file, or "".
func assertedAt() string {
	callers := make([]uintptr, 50)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.File, "_test.go") {
			return fmt.Sprintf("%s:%d: ", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}
