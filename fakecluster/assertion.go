package fakecluster

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// ReportFailure sets the message of the failed assertion. The page of [Cluster.WriteReport],
// [Cluster.ReportPage] and FAKECLUSTER_REPORT shows it at the top, unchanged. Only the first call has an
// effect. Failures of this package itself, such as those of [Cluster.WaitFor], are reported without it. For
// other assertions see [Cluster.TB]; a handler of Gomega may be
//
//	RegisterFailHandler(func(message string, skip ...int) {
//		c.ReportFailure(message)
//		Fail(message, skip...)
//	})
func (c *Cluster) ReportFailure(message string) {
	c.page.Fail(assertedAt() + message)
}

// TB returns a test that behaves as t, and also reports the first failed assertion to the cluster,
// for the page of FAKECLUSTER_REPORT. It is needed because testing.TB does not give access to the
// log of a test. Pass the returned test to assertions:
//
//	assert := assert.New(c.TB(t))      // testify
//	g := gomega.NewWithT(c.TB(t))
//	must(c.TB(t), err)                 // a function of your own
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

func (t *reportingTB) Error(args ...any) {
	t.Helper()
	t.c.ReportFailure(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	t.TB.Error(args...)
}

func (t *reportingTB) Errorf(format string, args ...any) {
	t.Helper()
	t.c.ReportFailure(fmt.Sprintf(format, args...))
	t.TB.Errorf(format, args...)
}

func (t *reportingTB) Fatal(args ...any) {
	t.Helper()
	t.c.ReportFailure(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	t.TB.Fatal(args...)
}

func (t *reportingTB) Fatalf(format string, args ...any) {
	t.Helper()
	t.c.ReportFailure(fmt.Sprintf(format, args...))
	t.TB.Fatalf(format, args...)
}

// assertedAt returns the file and line of the innermost caller in a test file, in the format of a test's log:
// "a_test.go:7: ". It is empty if no test file is in the stack.
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
