// Code generated from internal/collector/collector.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

// Package collector makes Go's garbage collector run less often while the process does what leaves much garbage and keeps little,
// such as the requests of living clusters. The setting is one of the process, so it ends with the last user.
package collector

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// These are garbage collection target percentages, as of GOGC.
const (
	usual = 100 // Go's default
	less  = 400
)

// most is how much garbage, in bytes, may be there before the collector runs with a percentage above the usual.
const most = 512 << 20

var collector struct {
	mu    sync.Mutex
	users int
	now   int // the percentage that is set; 0: it is not ours
}

// RunLess makes the garbage collector run less often, until all callers have called the returned function: as with GOGC=400, but
// with at most 512 MiB of garbage unless Go's default allows more. It does nothing if the environment variable GOGC or
// debug.SetGCPercent has set a percentage.
func RunLess() (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	collector.mu.Lock()
	defer collector.mu.Unlock()
	if collector.users++; collector.users == 1 {
		begin()
	}
	return sync.OnceFunc(func() {
		collector.mu.Lock()
		defer collector.mu.Unlock()
		if collector.users--; collector.users == 0 && collector.now != 0 {
			debug.SetGCPercent(usual)
			collector.now = 0
		}
	})
}

// begin sets the percentage unless somebody else has. The caller has the lock.
func begin() {
	collector.now = percentage(live())
	if before := debug.SetGCPercent(collector.now); before != usual {
		debug.SetGCPercent(before)
		collector.now = 0
		return
	}
	afterCollection()
}

// afterCollection adjusts the percentage once the collector has run.
func afterCollection() {
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { adjust() })
}

// adjust sets the percentage that fits the heap that is live, and does so again after the next collection.
func adjust() {
	collector.mu.Lock()
	defer collector.mu.Unlock()
	if collector.now == 0 {
		return
	}
	if p := percentage(live()); p != collector.now {
		debug.SetGCPercent(p)
		collector.now = p
	}
	afterCollection()
}

// percentage returns the percentage for a heap of which so many bytes are live.
func percentage(live uint64) int {
	if live == 0 {
		return less
	}
	return int(min(less, max(usual, most*100/live)))
}

// live returns how many bytes of the heap the last collection has found in use.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
