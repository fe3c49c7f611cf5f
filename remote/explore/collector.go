// Code generated from explore/collector.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package explore

import (
	"os"
	"runtime/debug"
	"sync"
)

// percentage is the garbage collection target percentage while an exploration runs: a trial leaves much garbage and keeps little.
const percentage = 400

var collector struct {
	mu           sync.Mutex
	explorations int
	before       int // the percentage when the first of them began
}

// collectLess makes the garbage collector run less often, until all explorations of the process have called
// the returned function. It does nothing if GOGC is set.
func collectLess() (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	collector.mu.Lock()
	defer collector.mu.Unlock()
	if collector.explorations++; collector.explorations == 1 {
		collector.before = debug.SetGCPercent(percentage)
	}
	return func() {
		collector.mu.Lock()
		defer collector.mu.Unlock()
		if collector.explorations--; collector.explorations == 0 {
			debug.SetGCPercent(collector.before)
		}
	}
}
