package fakecluster_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fakecluster/fakecluster/fakecluster"
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
func injectAll(c *fakecluster.Cluster, agent string, faults ...fakecluster.Fault) (all []*fakecluster.Injection) {
	for _, f := range faults {
		f.Resource, f.UserAgent, f.Optional = "samples.reads.example.com", agent, true
		if f.Verb != "watch" && f.Verb != "list" {
			f.Subresource = fakecluster.AnySubresource
		}
		all = append(all, c.Inject(f))
	}
	return all
}

// faultsOfWrites makes the writes of an agent go wrong in each way.
func faultsOfWrites(c *fakecluster.Cluster, agent string) []*fakecluster.Injection {
	return injectAll(c, agent,
		fakecluster.Fault{Probability: 0.03, Effect: fakecluster.CutAfterCommit()},
		fakecluster.Fault{Probability: 0.03, Effect: fakecluster.CutBeforeCommit()},
		fakecluster.Fault{Probability: 0.04, Effect: fakecluster.Conflict()},
		fakecluster.Fault{Probability: 0.04, Effect: fakecluster.Unavailable()},
		fakecluster.Fault{Probability: 0.04, Effect: fakecluster.InternalError(consistency.OnPurpose)},
		fakecluster.Fault{Probability: 0.04, Effect: fakecluster.Timeout()},
		fakecluster.Fault{Probability: 0.04, Effect: fakecluster.TooManyRequests(0)},
		fakecluster.Fault{Probability: 0.04, Effect: fakecluster.RefuseAdmission(consistency.OnPurpose)},
		fakecluster.Fault{Verb: "get", Probability: 0.3, Effect: fakecluster.StaleRead(3)},
		fakecluster.Fault{Probability: 0.05, Latency: time.Millisecond},
	)
}

// faultsOfReads makes lists of an agent stale, and all that faultsOfFreshReads does. What the agent receives stays
// whole, in order and without gaps, as long as it lists once.
func faultsOfReads(c *fakecluster.Cluster, agent string) []*fakecluster.Injection {
	return append(injectAll(c, agent, fakecluster.Fault{Verb: "list", Probability: 0.5, Effect: fakecluster.StaleRead(2)}), faultsOfFreshReads(c, agent)...)
}

// faultsOfFreshReads refuses lists and watches of an agent or lets them wait, ends its watches and holds them back.
func faultsOfFreshReads(c *fakecluster.Cluster, agent string) []*fakecluster.Injection {
	return injectAll(c, agent,
		fakecluster.Fault{Verb: "list", Probability: 0.1, Effect: fakecluster.Unavailable()},
		fakecluster.Fault{Verb: "list", Probability: 0.1, Effect: fakecluster.InternalError(consistency.OnPurpose)},
		fakecluster.Fault{Verb: "list", Probability: 0.1, Effect: fakecluster.TooManyRequests(0)},
		fakecluster.Fault{Verb: "list", Probability: 0.3, Latency: time.Millisecond},
		fakecluster.Fault{Verb: "watch", Probability: 0.1, Effect: fakecluster.Unavailable()},
		fakecluster.Fault{Verb: "watch", Probability: 0.1, Effect: fakecluster.InternalError(consistency.OnPurpose)},
		fakecluster.Fault{Verb: "watch", Probability: 0.1, Effect: fakecluster.TooManyRequests(0)},
		fakecluster.Fault{Verb: "watch", Probability: 0.3, Effect: fakecluster.DropWatch(0)},
		fakecluster.Fault{Verb: "watch", Probability: 0.3, Effect: fakecluster.DropWatch(3)},
		fakecluster.Fault{Verb: "watch", Probability: 0.3, Effect: fakecluster.DelayWatch(time.Millisecond)},
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
			f := injectAll(c, agent, fakecluster.Fault{Verb: "watch", Times: 1, After: random.IntN(watches), Effect: fakecluster.ExpireWatch()})
			f[0].Stop() // it strikes a watch that runs, or none
		}
	})
	return func() { stop(); expiring.Wait() }
}
