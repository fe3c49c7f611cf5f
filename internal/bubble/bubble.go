package bubble

import "time"

// Inside reports whether the caller runs in a testing/synctest bubble. Only in a bubble, on every platform,
// the time has no monotonic reading. Round(0) removes that reading, so it changes the time only outside.
func Inside() bool {
	now := time.Now()
	return now == now.Round(0)
}
