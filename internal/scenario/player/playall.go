package player

import (
	"context"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// PlayAll plays scenarios, Parallel of them concurrently. It calls report with each result from
// the calling goroutine, in the order of the scenarios. When it returns, all results have been
// reported and nothing is running.
func (with Player) PlayAll(ctx context.Context, scenarios []*syntax.Scenario, report func(Result)) {
	if with.Start == nil {
		with.Start = InProcess
	}
	results := make([]chan Result, len(scenarios))
	var together, oneByOne []int
	for i, s := range scenarios {
		results[i] = make(chan Result, 1)
		if with.Remote && !isIsolated(s) {
			oneByOne = append(oneByOne, i)
		} else {
			together = append(together, i)
		}
	}
	bases := SharedClusters(scenarios)
	play := func(i int) {
		shared := bases[scenarios[i].Cases]
		result := with.Play(ctx, scenarios[i], shared)
		if err := shared.release(); err != nil && result.Failure == nil {
			result.Failure = &Failure{Position: scenarios[i].Position, Message: "closing the cluster of the setup: " + err.Error()}
		}
		results[i] <- result
	}
	var playing sync.WaitGroup
	playing.Go(func() {
		each(together, with.players(), play)
		each(oneByOne, 1, play)
	})
	for _, result := range results {
		report(<-result)
	}
	playing.Wait()
}

// remoteParallelism is how many scenarios are played concurrently on a cluster outside of this process. They wait
// for it most of the time.
const remoteParallelism = 12

// players returns how many scenarios are played concurrently.
func (with Player) players() int {
	switch {
	case with.Parallel > 0:
		return with.Parallel
	case with.Remote:
		return remoteParallelism
	}
	return runtime.GOMAXPROCS(0)
}

// each calls do with each of the numbers, in order, and runs up to the given number of calls concurrently.
func each(numbers []int, concurrently int, do func(int)) {
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(concurrently, len(numbers)) {
		running.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(numbers) {
					return
				}
				do(numbers[i])
			}
		})
	}
	running.Wait()
}

// sharedCluster is a cluster after the part of the setup that is the same for all cases of a scenario. The first case
// that is played starts it, and each case is played on a fork. It is nil for a scenario without cases.
type sharedCluster struct {
	once    sync.Once
	playing *playback
	failed  *Failure
	// cases is the number of cases that have not been played yet.
	cases atomic.Int32
}

// SharedClusters returns a sharedCluster for each table with several cases among the scenarios. Scenarios with webhooks
// have none, because a fork would call the webhooks of another case, and scenarios with workloads have none, because
// nothing lives in a fork.
func SharedClusters(scenarios []*syntax.Scenario) map[*syntax.Cases]*sharedCluster {
	bases := map[*syntax.Cases]*sharedCluster{}
	for _, s := range scenarios {
		if s.Cases == nil || s.Cases.Count < 2 || len(s.Webhooks) > 0 || s.Workloads != nil {
			continue
		}
		if bases[s.Cases] == nil {
			bases[s.Cases] = &sharedCluster{}
		}
		bases[s.Cases].cases.Add(1)
	}
	return bases
}

// fork returns a playback of a case on a cluster of its own.
func (b *sharedCluster) fork(ctx context.Context, s *syntax.Scenario, start Starter) (*playback, *Failure) {
	b.once.Do(func() {
		if b.playing, b.failed = begin(ctx, s, start); b.failed == nil {
			b.failed = b.playing.play(ctx, s.Setup, 0, s.Cases.SharedSetup, "setup")
		}
	})
	if b.failed != nil {
		failure := *b.failed
		return nil, &failure
	}
	cluster, err := b.playing.cluster.Fork()
	if err != nil {
		return nil, &Failure{Position: s.Position, Message: "forking the cluster: " + err.Error()}
	}
	p, failed := newPlayback(s, cluster)
	if failed != nil {
		return nil, failed
	}
	p.client.kinds = maps.Clone(b.playing.client.kinds)
	for scope, answers := range b.playing.frames {
		p.frames[scope] = maps.Clone(answers)
	}
	return p, nil
}

// release closes the cluster after the last of its cases.
func (b *sharedCluster) release() error {
	if b == nil || b.cases.Add(-1) > 0 {
		return nil
	}
	return b.Close()
}

func (b *sharedCluster) Close() error {
	if b == nil || b.playing == nil {
		return nil
	}
	return b.playing.close()
}
