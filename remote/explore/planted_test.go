//go:build go1.25

package explore_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/remote/explore"
)

// Each mistake of the operator is a finding of its oracle.
func TestPlantedMistakes(t *testing.T) {
	for name, planted := range map[string]struct {
		operator operator
		oracle   explore.Oracle
		trials   int // 0: 120
	}{
		"it gives up after an error":                {operator{neverRetries: true}, explore.Recovers, 250},
		"it does not look at what is there":         {operator{forgets: true}, explore.Recovers, 0},
		"it leaves a goroutine behind":              {operator{leaks: true}, explore.NoLeak, 0},
		"it panics":                                 {operator{panics: true}, explore.NoPanic, 0},
		"it ends":                                   {operator{ends: true}, explore.NoPanic, 0},
		"it writes without end":                     {operator{writesForever: true}, explore.Converges, 4},
		"it hides the generation":                   {operator{hides: true}, explore.TruthfulStatus, 0},
		"it leaves ConfigMaps when there are fewer": {operator{shrinksNever: true}, explore.PathIndependent, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (planted.trials > 0 || planted.oracle == explore.NoPanic) {
				t.Skip("-short: it takes many trials, or long ones")
			}
			s := planted.operator.subject()
			s.MaxFindings, s.Trials = 2, planted.trials
			if s.Trials == 0 {
				s.Trials = 120
			}
			found, err := explore.FindOperator(t, s)
			for _, f := range found.Findings {
				if f.Oracle != planted.oracle {
					continue
				}
				if !strings.Contains(f.Report, " (operator_test.go:") {
					t.Errorf("the report has no line of code:\n%s", f.Report)
				}
				return
			}
			t.Errorf("nothing of %s: %+v, %v", planted.oracle, found, err)
		})
	}
}

// startedSubject returns the subject with a function that is called before the operator runs, with the number of the start.
func startedSubject(hook func(ctx context.Context, start int64)) explore.Subject {
	var starts atomic.Int64
	s := operator{before: func(ctx context.Context) { hook(ctx, starts.Add(1)) }}.subject()
	s.Trials = 12
	return s
}

// A trial that waits for something outside of its bubble is a finding, and the exploration goes on.
func TestATrialThatWaitsOutsideIsAFinding(t *testing.T) {
	outside := make(chan struct{}) // never closed: the end of the bubble would be after that of the test
	found, err := explore.FindOperator(t, startedSubject(func(_ context.Context, start int64) {
		if start == 4 {
			select {
			case <-outside:
			case <-context.Background().Done():
			}
		}
	}))
	if err != nil || len(found.Findings) != 1 || found.Findings[0].Oracle != explore.Converges || found.Trials+found.Rejected < 12 {
		t.Fatalf("%v, %+v", err, found)
	}
	for _, want := range []string{"time in the synctest bubble stands still, because a goroutine waits for a channel that was created outside of the bubble, such as that of a context of the outer test: create it in Subject.Run", "planted_test.go:",
		"-explore.replay='gadgets.example.com default/a: "} {
		if !strings.Contains(found.Findings[0].Report, want) {
			t.Errorf("the report does not have %q:\n%s", want, found.Findings[0].Report)
		}
	}
}

// An operator that goes on after its context has ended is a finding, and the exploration goes on.
func TestAnOperatorThatIgnoresItsContextIsAFinding(t *testing.T) {
	s := startedSubject(func(context.Context, int64) {})
	run, starts := s.Run, atomic.Int64{}
	s.Run = func(ctx context.Context, c *remote.Cluster) error {
		ignores := starts.Add(1) == 4
		err := run(ctx, c)
		if ignores {
			<-make(chan struct{})
		}
		return err
	}
	found, err := explore.FindOperator(t, s)
	if err != nil || len(found.Findings) != 1 || !strings.Contains(found.Findings[0].Report, "ignores its context: it has not stopped a day after that has ended, so the run cannot end.") {
		t.Fatalf("%v, %+v", err, found)
	}
}
