package node

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/workloads/internal/image"
)

// statusPeriod returns the interval at which the unchanged status of a node is written: 5 minutes, as in a kubelet. It
// is longer in a bubble, where an idle hour takes as long as its writes.
func statusPeriod() time.Duration {
	if bubble.Inside() {
		return time.Hour
	}
	return 5 * time.Minute
}

// beats are the heartbeats of all nodes. Each beat renews the Lease of every node, but is written only if that can make
// a difference: see doc.go.
type beats struct {
	ctx context.Context // of the agent
	// writing has room for one: the goroutine that writes beats. It is not a mutex, because requests may take virtual time.
	writing chan struct{}

	mu       sync.Mutex
	last     time.Time // beat
	revision int64     // of the cluster after the last beat that was written
	watchers int       // of Leases
}

// heartbeats renews the Leases of all nodes with one timer. It also writes the statuses of the nodes every statusPeriod,
// and when another client has changed one. A node whose Lease cannot be written does not overwrite the status that the
// node lifecycle controller gives it.
func (a *Agent) heartbeats(ctx context.Context) {
	ticker := time.NewTicker(beatPeriod)
	defer ticker.Stop()
	write, reported := statusPeriod(), time.Now()
	for beat := 1; ; beat++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		a.beats.mu.Lock()
		a.beats.last = time.Now()
		watched, revision := a.beats.watchers > 0, a.beats.revision
		a.beats.mu.Unlock()
		if watched || a.mayFail(revision) {
			a.writeBeats()
		}
		due := time.Since(reported) >= write
		if due {
			reported = time.Now()
		}
		for _, n := range a.nodes.Load().list {
			if beat%int(image.ReportPeriod/beatPeriod) == 0 && n.registration.beats() && n.registration.images.Report() {
				n.registration.compared = ""
			}
			object := n.object()
			if object != nil && n.registration.needsCSINode() {
				n.registration.ensureCSINode(ctx, object)
			}
			if object == nil || !n.registration.beats() || !due && (n.registration.failed() || !n.registration.deviates(object)) {
				continue
			}
			if err := n.registration.writeStatus(ctx, object); err != nil {
				n.registration.logger.V(2).Info("The status of the node is not written", "err", err)
			}
		}
	}
}

// mayFail reports whether the result of the next beat may differ from that of the last written one, after which the
// cluster had the revision: something was written since, such as an admission policy, a fault is in force, or the last
// one has failed.
func (a *Agent) mayFail(revision int64) bool {
	return a.config.Revision == nil || a.config.Faulty() || a.config.Revision() != revision ||
		slices.ContainsFunc(a.nodes.Load().list, func(n *node) bool { return n.registration.failed() })
}

// writeBeats writes the last beat of each node whose Lease has an older one.
func (a *Agent) writeBeats() {
	if !slices.ContainsFunc(a.nodes.Load().list, func(n *node) bool { return n.registration.lags(a.beats.latest()) }) {
		return
	}
	select {
	case a.beats.writing <- struct{}{}:
	case <-a.beats.ctx.Done():
		return
	}
	defer func() { <-a.beats.writing }()
	last := a.beats.latest()
	var before, ours int64
	if a.config.Revision != nil {
		before = a.config.Revision()
	}
	for _, n := range a.nodes.Load().list {
		if !n.registration.lags(last) {
			continue
		}
		// As in a kubelet, the next heartbeat makes up for a failed one.
		if err := n.registration.renew(a.beats.ctx, last); err != nil {
			n.registration.logger.V(2).Info("The Lease is not renewed", "err", err)
			continue
		}
		ours++
	}
	if a.config.Revision == nil {
		return
	}
	after := a.config.Revision()
	if after != before+ours { // another client has written meanwhile
		after = before
	}
	a.beats.mu.Lock()
	a.beats.revision = after
	a.beats.mu.Unlock()
}

// latest returns the time of the last beat.
func (b *beats) latest() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// BeforeRead is called before a client reads Leases, so that it finds the last beat, and before it watches them; watch
// ends with the watch.
func (a *Agent) BeforeRead(watch context.Context) {
	if watch != nil {
		a.beats.mu.Lock()
		a.beats.watchers++
		a.beats.mu.Unlock()
		context.AfterFunc(watch, func() {
			a.beats.mu.Lock()
			defer a.beats.mu.Unlock()
			a.beats.watchers--
		})
	}
	a.writeBeats()
}

// Beat returns the time of a node's last beat, which may be later than the time in the Lease. beats is true if the next
// beat will succeed unless something is written before. found is false if the node is not the agent's or not registered.
func (a *Agent) Beat(name string) (last time.Time, beats, found bool) {
	if n := a.node(name); n != nil {
		return n.registration.beat(a.beats.latest())
	}
	return time.Time{}, false, false
}
