package timing

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestADelayDoublesUpToTheMost proves when something that fails again and again is tried again.
func TestADelayDoublesUpToTheMost(t *testing.T) {
	var r Retry
	now := noon
	for i, want := range []time.Duration{2, 4, 8, 16, 20, 20} {
		next := r.Failed(now, 2*time.Second, 20*time.Second)
		if got := next.Sub(now); got != want*time.Second || r.Time != next {
			t.Errorf("failure %d: tried again after %s and at %s, want after %d s", i+1, got, r.Time, want)
		}
		now = next
	}
}

// TestTimesThatDoNotCount proves that Earlier leaves out zero times and times that have passed, and that Later does not.
func TestTimesThatDoNotCount(t *testing.T) {
	zero, past, soon, late := time.Time{}, noon.Add(-time.Second), noon.Add(time.Second), noon.Add(time.Minute)
	for _, test := range []struct {
		name                 string
		a, b, earlier, later time.Time
	}{
		{"none", zero, zero, zero, zero},
		{"only the first one", soon, zero, soon, soon},
		{"only the second one", zero, soon, soon, soon},
		{"the first one is earlier", soon, late, soon, late},
		{"the second one is earlier", late, soon, soon, late},
		{"the second one has passed", late, past, late, late},
		{"the second one is now", late, noon, late, late},
		{"the only one has passed", zero, past, zero, past},
	} {
		if got := Earlier(test.a, test.b, noon); got != test.earlier {
			t.Errorf("%s: Earlier returns %s, want %s", test.name, got, test.earlier)
		}
		if got := Later(test.a, test.b); got != test.later {
			t.Errorf("%s: Later returns %s, want %s", test.name, got, test.later)
		}
	}
}
