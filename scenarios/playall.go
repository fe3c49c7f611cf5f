package scenarios

import (
	"context"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
)

// PlayAll plays scenarios, Parallel of them concurrently. It calls report with each result from
// the calling goroutine, in the order of the scenarios. When it returns, all results have been
// reported and nothing is running.
func (with Player) PlayAll(ctx context.Context, scenarios []*Scenario, report func(Result)) {
	if with.Start == nil {
		with.Start = InProcess
	}
	players := with.Parallel
	if players < 1 && with.External {
		players = 1 // objects without a namespace are all of one cluster
	}
	if players < 1 {
		players = runtime.GOMAXPROCS(0)
	}
	results := make([]chan Result, len(scenarios))
	for i := range results {
		results[i] = make(chan Result, 1)
	}
	bases := basesOf(scenarios)
	var next atomic.Int64
	var playing sync.WaitGroup
	for range min(players, len(scenarios)) {
		playing.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(scenarios) {
					return
				}
				of := bases[scenarios[i].table]
				result := with.play(ctx, scenarios[i], of)
				if err := of.leave(); err != nil && result.Failure == nil {
					result.Failure = &Failure{Position: scenarios[i].Position, Message: "closing the cluster of the setup: " + err.Error()}
				}
				results[i] <- result
			}
		})
	}
	for _, result := range results {
		report(<-result)
	}
	playing.Wait()
}

// base is the cluster after the part of a setup that is the same for all cases. The first case
// that is played makes it, and each is played on a fork. A nil *base is that of a scenario
// without cases.
type base struct {
	once    sync.Once
	playing *playing
	failed  *Failure
	// cases is how many have not been played yet.
	cases atomic.Int32
}

// basesOf returns a base for each table of which several cases are to be played. Scenarios with
// webhooks have none, because a fork would call those of another case.
func basesOf(scenarios []*Scenario) map[*table]*base {
	bases := map[*table]*base{}
	for _, s := range scenarios {
		if s.table == nil || s.table.cases < 2 || len(s.webhooks) > 0 {
			continue
		}
		if bases[s.table] == nil {
			bases[s.table] = &base{}
		}
		bases[s.table].cases.Add(1)
	}
	return bases
}

// fork returns the playing of a case on a cluster of its own.
func (b *base) fork(ctx context.Context, s *Scenario, start Starter) (*playing, *Failure) {
	b.once.Do(func() {
		if b.playing, b.failed = s.begin(ctx, start); b.failed == nil {
			b.failed = b.playing.play(ctx, s.setup, 0, s.table.shared, "setup")
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
	p, failed := s.on(cluster)
	if failed != nil {
		return nil, failed
	}
	p.client.kinds = maps.Clone(b.playing.client.kinds)
	for scope, answers := range b.playing.frames {
		p.frames[scope] = maps.Clone(answers)
	}
	return p, nil
}

// leave closes the base after the last of its cases.
func (b *base) leave() error {
	if b == nil || b.cases.Add(-1) > 0 {
		return nil
	}
	return b.close()
}

func (b *base) close() error {
	if b == nil || b.playing == nil {
		return nil
	}
	return b.playing.close()
}
