package explore

import (
	"flag"
	"testing"
	"time"
)

// FindTrials is FindOperator with as many trials at the same time. It also returns all trials in their order.
func FindTrials(t *testing.T, s Subject, parallel int) (found Found, trials []string) {
	t.Helper()
	e, err := newOperatorExploration(localTest(t), s)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	e.parallel, e.noted = parallel, func(tr trial) { trials = append(trials, tr.String()) }
	if found, err = e.explore(); err != nil {
		t.Fatal(err)
	}
	return found, trials
}

// ClustersKept runs an exploration, and returns how many outcomes it has kept to compare with, and how many of them still have the cluster of their trial.
func ClustersKept(t *testing.T, s Subject) (outcomes, kept int) {
	t.Helper()
	e, err := newOperatorExploration(localTest(t), s)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	if _, err := e.explore(); err != nil {
		t.Fatal(err)
	}
	for _, r := range e.references.references {
		if outcomes++; r.out.run.cluster != nil || r.out.last != nil && r.out.last.cluster != nil {
			kept++
		}
	}
	return outcomes, kept
}

// FindWithin is FindOperator with one trial at a time, which is stuck after a real time without a request.
func FindWithin(t *testing.T, s Subject, idle time.Duration) Found {
	t.Helper()
	e, err := newOperatorExploration(localTest(t), s)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	e.parallel, e.limits = 1, limits{idle: idle, total: time.Hour, period: idle / 4}
	found, err := e.explore()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// SetShard sets -explore.shard until the test ends; empty: all trials.
func SetShard(t *testing.T, text string) {
	t.Helper()
	before := value[string](shardFlag)
	t.Cleanup(func() { setShard(t, before) })
	setShard(t, text)
}

func setShard(t *testing.T, text string) {
	if err := flag.Set(shardFlag, text); err != nil {
		t.Fatal(err)
	}
}

// CheckShard returns the error of a value of -explore.shard.
func CheckShard(text string) error { return new(shard).set(text) }
