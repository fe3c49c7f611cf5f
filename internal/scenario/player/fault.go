package player

import (
	"context"

	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// inject injects a fault until the end of the scenario.
func inject(_ context.Context, c *Client, r syntax.Request) (target, Answer, error) {
	f, _ := r.Argument["fault"].(faults.Fault)
	return target{}, emptyAnswer(), c.cluster.Inject(f)
}

// compactHistory discards the history of the cluster.
func compactHistory(_ context.Context, c *Client, _ syntax.Request) (target, Answer, error) {
	return target{}, emptyAnswer(), c.cluster.Compact()
}
