package explore

import (
	"runtime/debug"
	"sync"
)

const (
	usualGrowth = 100 // that of a process without GOGC
	// growth is how much the heap may grow until the garbage collector runs, in percent. A trial leaves little but garbage, which the
	// collector would take a tenth of the processor time to find.
	growth = 400
)

// collecting are the explorations that run.
var collecting struct {
	mu    sync.Mutex
	count int
}

// collectLess lets the garbage collector run less often until end is called, unless somebody has set how often it runs.
func collectLess() (end func()) {
	set := func(more int, from, to int) {
		collecting.mu.Lock()
		defer collecting.mu.Unlock()
		first := max(collecting.count, collecting.count+more) == 1
		collecting.count += more
		if first {
			if was := debug.SetGCPercent(to); was != from {
				debug.SetGCPercent(was)
			}
		}
	}
	set(1, usualGrowth, growth)
	return func() { set(-1, growth, usualGrowth) }
}
