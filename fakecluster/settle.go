package fakecluster

import (
	"context"
	"time"

	"github.com/fakecluster/fakecluster/internal/bubble"
)

// How long a cluster has to be quiet until it has settled: by the clock of a bubble, where it takes no
// time, and by the real one.
const (
	quietInBubble = time.Second
	quiet         = 100 * time.Millisecond
)

// Settle returns when the cluster has settled: no request is in flight, every watch has delivered all
// its events, and no request has come for a while. That while is a second in a testing/synctest bubble,
// where it takes no time, and 100 ms outside, where nobody can see whether a client is still at work. A
// controller that waits longer before it tries again has not finished; in a bubble, let the time pass
// first.
//
// It fails if an object is written more than a hundred times with no pause of a second, and names the
// object, who writes it, and what the last write changed. It fails with what is left to do if ctx ends,
// or if that takes more than ten minutes. Settle waits for events; it does not poll.
func (c *Cluster) Settle(ctx context.Context) error {
	if err := c.checkPlace(); err != nil {
		return err
	}
	if bubble.Inside() {
		return c.server.Settle(ctx, quietInBubble)
	}
	return c.server.Settle(ctx, quiet)
}
