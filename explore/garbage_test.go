package explore

import (
	"runtime/debug"
	"testing"
)

// The garbage collector runs as before when the last exploration has ended, and as somebody has set it all the time.
func TestTheCollectorRunsLessOftenWhileAnExplorationRuns(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualGrowth))
	now := func() int {
		was := debug.SetGCPercent(usualGrowth)
		debug.SetGCPercent(was)
		return was
	}
	first, second := collectLess(), collectLess()
	if got := now(); got != growth {
		t.Errorf("%d %% while two run", got)
	}
	first()
	if got := now(); got != growth {
		t.Errorf("%d %% while the second runs", got)
	}
	second()
	if got := now(); got != usualGrowth {
		t.Errorf("%d %% afterwards", got)
	}
	debug.SetGCPercent(50)
	end := collectLess()
	during := now()
	end()
	if after := now(); during != 50 || after != 50 {
		t.Errorf("%d %% and then %d %%, although it is set to 50", during, after)
	}
}
