package explore

import (
	"context"
	"sync"
	"testing"
	"time"
)

const (
	// shortestRealTime is the shortest Subject.RealTime, which is how long Settle waits.
	shortestRealTime = 100 * time.Millisecond
	// patienceInRealTime is how many times as long trials that confirm a problem wait in real time.
	patienceInRealTime = 4
	// stopWithinInRealTime is how long a controller may take to stop in real time.
	stopWithinInRealTime = 30 * time.Second
	// requestsInRealTime is how many requests without a write are a loop, in each second.
	requestsInRealTime = 40
)

// inRealTime runs a trial outside of bubbles.
func (e *operatorExploration) inRealTime(_ *outcome, run func(testing.TB)) {
	t := newTrialTest(e.t)
	defer t.end()
	run(t)
}

// waitForWork waits until the cluster is quiet, but at most this long, because an operator that always reads
// may be quiet, too.
func (p *player) waitForWork(most time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	_ = p.run.cluster.Settle(ctx)
}

// passInRealTime waits, because the operator may start to write again. Its work outside of the cluster cannot
// be observed.
func (p *player) passInRealTime(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// delayByFaults returns how much later the operator may write because of the faults of the trial.
func (p *player) delayByFaults() (d time.Duration) {
	for _, f := range p.fault {
		switch f.effect {
		case crashBefore, crashAfter:
			d += restartAfter
		case late:
			d += lateBy
		}
	}
	return d
}

// hotRequestsInRealTime returns the number of requests without a write that count as a loop.
func hotRequestsInRealTime(during time.Duration) int {
	return int(during.Seconds()*requestsInRealTime) + requestsInRealTime
}

// trialTest is the test of a trial in real time. Its cleanups run at the end of the trial, and not at the end
// of the exploring test.
type trialTest struct {
	testing.TB
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	cleanups []func()
}

func newTrialTest(t testing.TB) *trialTest {
	ctx, cancel := context.WithCancel(t.Context())
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
