package fakecluster_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/testing/consistency"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// What goes wrong on purpose while the histories of package readtest are played, and how they are
// played again.

// replayed plays the steps of writers in a bubble, where nothing but the seed decides what happens. If
// that fails, it plays fewer and fewer of them, and the test fails with the shortest history.
func replayed(t *testing.T, writers *consistency.Writers, play func(t testing.TB, ws *consistency.Writers)) {
	t.Helper()
	seedtest.Play(t, writers.Plan(), func(steps []consistency.Step) (failed error) {
		synctest.Test(t, func(t *testing.T) {
			ws := &consistency.Writers{Seed: writers.Seed, Count: writers.Count, Each: writers.Each, Pause: writers.Pause, Faults: writers.Faults, Steps: steps}
			failed = seedtest.Attempt(t, func(t testing.TB) { play(t, ws) })
		})
		return failed
	})
}

// injectAll puts faults of requests for samples by an agent in force. Whether each has struck is looked at later.
func injectAll(c *fakecluster.Cluster, agent string, wanted ...faults.Fault) (injections []faults.Injection) {
	for _, f := range wanted {
		f.Resource, f.UserAgent, f.Optional = "samples.reads.example.com", agent, true
		if f.Verb != "watch" && f.Verb != "list" {
			f.Subresource = faults.AnySubresource
		}
		injections = append(injections, c.Inject(f))
	}
	return injections
}

// faultsOfWrites makes the writes of an agent go wrong in each way.
func faultsOfWrites(c *fakecluster.Cluster, agent string) []faults.Injection {
	return injectAll(c, agent,
		faults.Fault{Probability: 0.03, Effect: faults.CutAfterCommit()},
		faults.Fault{Probability: 0.03, Effect: faults.CutBeforeCommit()},
		faults.Fault{Probability: 0.04, Effect: faults.Conflict()},
		faults.Fault{Probability: 0.04, Effect: faults.Unavailable()},
		faults.Fault{Probability: 0.04, Effect: faults.InternalError(consistency.OnPurpose)},
		faults.Fault{Probability: 0.04, Effect: faults.Timeout()},
		faults.Fault{Probability: 0.04, Effect: faults.TooManyRequests(0)},
		faults.Fault{Probability: 0.04, Effect: faults.RefuseAdmission(consistency.OnPurpose)},
		faults.Fault{Verb: "get", Probability: 0.3, Effect: faults.StaleRead(3)},
		faults.Fault{Probability: 0.05, Latency: time.Millisecond},
	)
}

// faultsOfReads makes lists of an agent stale, and all that faultsOfFreshReads does. What the agent receives stays
// whole, in order and without gaps, as long as it lists once.
func faultsOfReads(c *fakecluster.Cluster, agent string) []faults.Injection {
	return append(injectAll(c, agent, faults.Fault{Verb: "list", Probability: 0.5, Effect: faults.StaleRead(2)}), faultsOfFreshReads(c, agent)...)
}

// faultsOfFreshReads refuses lists and watches of an agent or lets them wait, ends its watches and holds them back.
func faultsOfFreshReads(c *fakecluster.Cluster, agent string) []faults.Injection {
	return injectAll(c, agent,
		faults.Fault{Verb: "list", Probability: 0.1, Effect: faults.Unavailable()},
		faults.Fault{Verb: "list", Probability: 0.1, Effect: faults.InternalError(consistency.OnPurpose)},
		faults.Fault{Verb: "list", Probability: 0.1, Effect: faults.TooManyRequests(0)},
		faults.Fault{Verb: "list", Probability: 0.3, Latency: time.Millisecond},
		faults.Fault{Verb: "watch", Probability: 0.1, Effect: faults.Unavailable()},
		faults.Fault{Verb: "watch", Probability: 0.1, Effect: faults.InternalError(consistency.OnPurpose)},
		faults.Fault{Verb: "watch", Probability: 0.1, Effect: faults.TooManyRequests(0)},
		faults.Fault{Verb: "watch", Probability: 0.3, Effect: faults.DropWatch(0)},
		faults.Fault{Verb: "watch", Probability: 0.3, Effect: faults.DropWatch(3)},
		faults.Fault{Verb: "watch", Probability: 0.3, Effect: faults.DelayWatch(time.Millisecond)},
	)
}

// expireWatches compacts the history now and then, and ends a watch of the agent with 410, until calm is called. By the
// clock of a bubble there is less than a pause in between. It does so when all watchers have received all
// writes, so that the other watches go on. It ends one of the given number of watches that
// began first.
func expireWatches(t testing.TB, c *fakecluster.Cluster, seed uint64, pause time.Duration, agent string, watches int) (calm func()) {
	ctx, stop := context.WithCancel(t.Context())
	random := seedtest.Source(seed, 1002)
	var expiring sync.WaitGroup
	expiring.Go(func() {
		for {
			select {
			case <-time.After(time.Duration(random.Int64N(int64(pause)))):
			case <-ctx.Done():
				return
			}
			synctest.Wait()
			if random.IntN(3) == 0 {
				if err := c.Compact(); err != nil {
					t.Error(err)
				}
				continue
			}
			f := injectAll(c, agent, faults.Fault{Verb: "watch", Times: 1, After: random.IntN(watches), Effect: faults.ExpireWatch()})
			f[0].Stop() // it strikes a watch that runs, or none
		}
	})
	return func() { stop(); expiring.Wait() }
}
