package bubble

import (
	"testing"
	"time"
)

// Inside reports whether the caller runs in a testing/synctest bubble. Only in a bubble, on every platform,
// the time has no monotonic reading. Round(0) removes that reading, so it changes the time only outside.
func Inside() bool {
	now := time.Now()
	return now == now.Round(0)
}

// IsOuter reports whether a test, which code in a bubble uses, is one outside of the bubble, such as the one that synctest.Test
// was called with. Package testing refuses the Deadline of the test of a bubble, and of no other. A type that wraps a test and
// does not have the method counts as the test of the bubble.
func IsOuter(t testing.TB) (outer bool) {
	with, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok || !Inside() {
		return false
	}
	defer func() {
		if recover() != nil {
			outer = false
		}
	}()
	with.Deadline()
	return true
}
