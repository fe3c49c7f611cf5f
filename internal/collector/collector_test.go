package collector

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// current returns the percentage that is set.
func current() int {
	p := debug.SetGCPercent(usual)
	debug.SetGCPercent(p)
	return p
}

func TestThePercentageOfAHeap(t *testing.T) {
	for _, test := range []struct {
		name string
		live uint64
		want int
	}{
		{"nothing is live", 0, 400},
		{"a small heap", 30 << 20, 400},
		{"a heap whose garbage reaches the most", 128 << 20, 400},
		{"a larger heap", 256 << 20, 200},
		{"a heap as large as the most", 512 << 20, 100},
		{"a very large heap", 8 << 30, 100},
	} {
		if got := percentage(test.live); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestTheLastUserEndsIt(t *testing.T) {
	t.Setenv("GOGC", "")
	first := RunLess()
	second := RunLess()
	first()
	first()
	if got := current(); got != less {
		t.Errorf("with one user left: %d, want %d", got, less)
	}
	second()
	if got := current(); got != usual {
		t.Errorf("without users: %d, want %d", got, usual)
	}
}

func TestASettingOfSomebodyElseHolds(t *testing.T) {
	t.Run("GOGC", func(t *testing.T) {
		t.Setenv("GOGC", "100")
		defer RunLess()()
		if got := current(); got != usual {
			t.Errorf("%d, want %d", got, usual)
		}
	})
	t.Run("debug.SetGCPercent", func(t *testing.T) {
		t.Setenv("GOGC", "")
		defer debug.SetGCPercent(debug.SetGCPercent(50))
		end := RunLess()
		if got := current(); got != 50 {
			t.Errorf("meanwhile: %d, want 50", got)
		}
		end()
		if got := current(); got != 50 {
			t.Errorf("afterwards: %d, want 50", got)
		}
	})
}

// The percentage follows the heap after each collection: with 256 MiB in use, twice that may be garbage.
func TestThePercentageFollowsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	defer RunLess()()
	for range 2 { // once to begin, and once more after that
		kept := make([]byte, 256<<20)
		collect()
		if got := current(); got < 150 || got > 200 {
			t.Errorf("with 256 MiB in use: %d, want a little less than 200", got)
		}
		runtime.KeepAlive(kept)
		kept = nil
		collect()
		if got := current(); got != less {
			t.Errorf("with little in use: %d, want %d", got, less)
		}
	}
}

// collect runs the garbage collector, and waits for the finalizers that this has made due. They run one after the other.
func collect() {
	runtime.GC()
	last := make(chan struct{})
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { close(last) })
	runtime.GC()
	<-last
}
