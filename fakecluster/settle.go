package fakecluster

import (
	"context"
	"time"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/server/console"
)

// How long Settle waits without a request before it returns: by the clock of a bubble, where it takes no real
// time, and by the real clock.
const (
	quietInBubble = time.Second
	quiet         = 100 * time.Millisecond
	// quietOfLife is the same for a cluster in which programs live. It covers their short delays: images are
	// pulled, the Job controller gathers changes for a second, the scheduler tries again.
	quietOfLife = 2 * time.Second
)

// Settle returns when the cluster is quiet: no request is in flight, every watch has delivered all
// its events, and no request has come for a second in a testing/synctest bubble, which takes no real time, or
// for 100 ms outside, because there is no way to see whether a client is still at work. Settle does not wait for
// a controller whose next retry is later; in a bubble, let the time pass first.
//
// If something lives in the cluster, such as the controllers and nodes of package workloads, Settle waits for
// two seconds without a request, in a bubble and outside: no request comes while an image is pulled, or while
// the Job controller gathers changes. Heartbeats of nodes do not count. Settle does not wait for what is due
// later: a back-off, a schedule, the delays and run times of behaviors. So it returns while Pods with a
// ReadyDelay of a minute are not yet ready. Use [Cluster.WaitFor] for those, or let the time pass.
//
// It fails if an object is written more than a hundred times without a pause of a second, and names the
// object, the writer, and what the last write changed. If ctx ends, or after ten minutes, it fails with an
// error that lists what is still in progress. Settle waits for events; it does not poll.
func (c *Cluster) Settle(ctx context.Context) error {
	if err := c.checkPlace(); err != nil {
		return err
	}
	if c.lives() {
		return console.Settle(ctx, c.server, quietOfLife)
	}
	if bubble.Inside() {
		return console.Settle(ctx, c.server, quietInBubble)
	}
	return console.Settle(ctx, c.server, quiet)
}
