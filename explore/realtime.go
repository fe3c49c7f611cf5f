package explore

import (
	"context"
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
	t := newTrialTest(e.t.Context(), e.t)
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
