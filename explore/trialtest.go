package explore

import (
	"context"
	"sync"
	"testing"
)

// trialTest is the test of a trial. Its cleanups run at the end of the trial, and not at the end of the
// exploring test.
type trialTest struct {
	testing.TB
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	cleanups []func()
}

func newTrialTest(ctx context.Context, t testing.TB) *trialTest {
	ctx, cancel := context.WithCancel(ctx)
	return &trialTest{TB: t, ctx: ctx, cancel: cancel}
}

// Context ends before the cleanups, as that of a test.
func (t *trialTest) Context() context.Context { return t.ctx }

func (t *trialTest) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// end runs the cleanups, the last one first.
func (t *trialTest) end() {
	t.cancel()
	for {
		t.mu.Lock()
		n := len(t.cleanups)
		if n == 0 {
			t.mu.Unlock()
			return
		}
		last := t.cleanups[n-1]
		t.cleanups = t.cleanups[:n-1]
		t.mu.Unlock()
		last()
	}
}
