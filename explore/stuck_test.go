package explore_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/explore"
)

// startedSubject returns the subject of gadgets with a function that is called before the operator runs, and after it has returned, with the number of
// the start. ended reports whether the test has ended, so that nothing is left behind.
func startedSubject(t *testing.T, hook func(start int64, after bool, ended func() bool)) explore.Subject {
	var starts atomic.Int64
	var ended atomic.Bool
	t.Cleanup(func() { ended.Store(true) })
	s := gadgetOperator{}.subject()
	run := s.Run
	s.Run = func(ctx context.Context, config *rest.Config) error {
		start := starts.Add(1)
		hook(start, false, ended.Load)
		err := run(ctx, config)
		hook(start, true, ended.Load)
		return err
	}
	return s
}

// A goroutine of the operator that runs for ever makes its trial stuck. The finding names the goroutine and the trial, and the exploration goes on.
func TestATrialThatIsStuckIsAFinding(t *testing.T) {
	s := startedSubject(t, func(start int64, _ bool, ended func() bool) {
		for start == 4 && !ended() { // busy, before the operator runs
		}
	})
	s.Trials = 12
	found := explore.FindWithin(t, s, 2*time.Second)
	if len(found.Findings) != 1 || found.Trials+found.Rejected < s.Trials {
		t.Fatalf("%s: %+v", found, found.Findings)
	}
	f := found.Findings[0]
	for _, want := range []string{"explore: the operator does not come to rest (oracle converges).", "the trial is stuck: it has not ended after ", "and this goroutine is busy:",
		"stuck_test.go:", "-explore.replay='gadgets.example.com default/a: "} {
		if !strings.Contains(f.Report, want) {
			t.Errorf("the report does not have %q:\n%s", want, f.Report)
		}
	}
}

// An operator that goes on after its context has ended is a finding, and the exploration goes on.
func TestAnOperatorThatIgnoresItsContextIsAFinding(t *testing.T) {
	s := startedSubject(t, func(start int64, after bool, ended func() bool) {
		for after && start == 4 && !ended() {
			time.Sleep(time.Second)
		}
	})
	s.Trials = 12
	found := explore.FindWithin(t, s, time.Minute)
	if len(found.Findings) != 1 || !strings.Contains(found.Findings[0].Report, "ignores its context: it has not stopped a day after that has ended, so the run cannot end.") {
		t.Fatalf("%s: %+v", found, found.Findings)
	}
}

// Trials that are stuck keep processors busy, so the third ends the exploration, and the summary says so.
func TestTheThirdTrialThatIsStuckEndsTheExploration(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: three trials compute for a second of real time each")
	}
	s := startedSubject(t, func(start int64, _ bool, ended func() bool) {
		for start > 1 && !ended() { // busy
		}
	})
	s.Trials = 20
	found := explore.FindWithin(t, s, time.Second)
	if n := len(found.Findings); n != 1 || found.Trials != 3 || !strings.Contains(found.String(), "all that further trials would have shown, because 3 trials are stuck") {
		t.Errorf("%s: %+v", found, found.Findings)
	}
}
