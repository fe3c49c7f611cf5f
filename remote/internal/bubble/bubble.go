// Code generated from internal/bubble/bubble.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package bubble

import (
	"testing"
	"time"
)

// Inside reports whether the caller runs in a testing/synctest bubble. Only times in a bubble have no monotonic reading,
// on every platform. Round(0) removes that reading, so it changes the time only outside of bubbles.
func Inside() bool {
	now := time.Now()
	return now == now.Round(0)
}

// IsOuter reports whether t, used by code in a bubble, belongs to a test outside of the bubble, such as the test that
// has called synctest.Test. Deadline panics only for the test of a bubble. A type without this method is treated as the
// test of the bubble.
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
