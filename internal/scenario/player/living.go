package player

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Live starts what lives in a cluster. config is the JSON of a living.Config. Close of the result stops it and returns
// what has gone wrong.
type Live func(c *fakecluster.Cluster, config []byte) (io.Closer, error)

// notLinked is the failure of a scenario with workloads if the program has no code for them.
const notLinked = "the scenario has workloads: give scenarios.Run the option scenarios.WithWorkloads(workloads.FromYAML), with package github.com/fakecluster/fakecluster/workloads"

// live starts the workloads of the scenario.
func (p *playback) live(run Live, s *syntax.Scenario) *Failure {
	fail := func(message string) *Failure { return &Failure{Position: s.Position, Message: message} }
	cluster, ok := p.cluster.(interface {
		living() *fakecluster.Cluster
		Stats() inspect.Stats
	})
	if run == nil || !ok {
		return fail(notLinked)
	}
	config, err := json.Marshal(s.Workloads)
	if err != nil {
		return fail(fmt.Sprintf("workloads: %v", err))
	}
	if p.living, err = run(cluster.living(), config); err != nil {
		return fail(fmt.Sprintf("workloads: %v", err))
	}
	p.client.stats = cluster.Stats
	return nil
}

// endLife stops the workloads.
func (p *playback) endLife() error {
	if p.living == nil {
		return nil
	}
	if err := p.living.Close(); err != nil {
		return fmt.Errorf("workloads: %w", err)
	}
	return nil
}
