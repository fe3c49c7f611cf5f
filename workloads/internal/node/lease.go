package node

import (
	"context"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/workloads/internal/image"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
)

const (
	// leaseSeconds is the duration that kubelets write into Leases, and beatPeriod how often they renew them.
	leaseSeconds = 40
	beatPeriod   = 10 * time.Second
)

// statusPeriod is how often the unchanged status of a node is written. A kubelet does it every 5 minutes. In a bubble
// an idle hour takes as long as its writes.
func statusPeriod() time.Duration {
	if bubble.Inside() {
		return time.Hour
	}
	return 5 * time.Minute
}

// beats are the heartbeats of all nodes. A node has renewed its Lease with each beat, but the beat is written only if
// that can make a difference: see doc.go.
type beats struct {
	ctx context.Context // of the agent
	// writing has room for one: the goroutine that writes beats. It is not a mutex, because requests may take virtual time.
	writing chan struct{}

	mu       sync.Mutex
	last     time.Time // beat
	revision int64     // of the cluster after the last beat that was written
	watchers int       // of Leases
}

// lease is what a node has to know about its Lease.
type lease struct {
	written bool
	tried   time.Time // the last beat that was written, or should have been
	renewed time.Time // what is in the object
	failed  bool      // the last write has failed
	good    time.Time // the last beat before the writes have failed, or before the heartbeats were stopped
}

// heartbeats renews the Leases of all nodes with one timer. It writes the statuses of the nodes from time to time, and when somebody else has
// changed one. A node whose Lease cannot be written leaves the status that the node lifecycle controller gives it.
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
			if beat%int(image.ImagesPeriod/beatPeriod) == 0 && n.beats() && n.images.Report() {
				n.compared = ""
			}
			object := n.object()
			if object != nil && n.needsCSINode() {
				n.ensureCSINode(ctx, object)
			}
			if object == nil || !n.beats() || !due && (n.failed() || !n.deviates(object)) {
				continue
			}
			if err := n.writeStatus(ctx, object); err != nil {
				n.logger.V(2).Info("The status of the node is not written", "err", err)
			}
		}
	}
}

// mayFail reports whether the next beat could end in another way than the last one that was written, after which the
// cluster had the revision: something has been written since, such as an admission policy, a fault is in force, or the
// last one has failed.
func (a *Agent) mayFail(revision int64) bool {
	if a.config.Revision == nil || a.config.Faulty() || a.config.Revision() != revision {
		return true
	}
	for _, n := range a.nodes.Load().list {
		if n.failed() {
			return true
		}
	}
	return false
}

// writeBeats writes the last beat of each node whose Lease has an older one.
func (a *Agent) writeBeats() {
	if !slices.ContainsFunc(a.nodes.Load().list, func(n *node) bool { return n.lags(a.beats.latest()) }) {
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
		if !n.lags(last) {
			continue
		}
		// A heartbeat that fails is made up for by the next one, as in a kubelet.
		if err := n.renew(a.beats.ctx, last); err != nil {
			n.logger.V(2).Info("The Lease is not renewed", "err", err)
			continue
		}
		ours++
	}
	if a.config.Revision == nil {
		return
	}
	after := a.config.Revision()
	if after != before+ours { // something else has been written meanwhile
		after = before
	}
	a.beats.mu.Lock()
	a.beats.revision = after
	a.beats.mu.Unlock()
}

// latest returns when the last beat was.
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

// Beat returns when a node has renewed its Lease for the last time, which may be later than the Lease says, and whether
// the next beat will succeed unless something is written before. found is false for a node that is not the agent's, or
// not registered.
func (a *Agent) Beat(name string) (last time.Time, beats, found bool) {
	n := a.node(name)
	if n == nil {
		return time.Time{}, false, false
	}
	last = a.beats.latest()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.registered || !n.lease.written {
		return time.Time{}, false, false
	}
	if n.stopped || n.lease.failed {
		return n.lease.good, false, true
	}
	return timing.Later(last, n.lease.renewed), true, true
}

// beats reports whether the node sends heartbeats: it is registered, not stopped, and its object is not deleted.
func (n *node) beats() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.registered && !n.stopped
}

// lags reports whether the node has not written a beat, and not tried to.
func (n *node) lags(beat time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.registered && !n.stopped && n.lease.tried.Before(beat)
}

func (n *node) failed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lease.failed && !n.stopped
}

// renew writes a time into the Lease, and creates the Lease first if there is none.
func (n *node) renew(ctx context.Context, beat time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, beatPeriod)
	defer cancel()
	err := n.writeLease(ctx, metav1.NewMicroTime(beat))
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lease.tried = timing.Later(n.lease.tried, beat)
	switch {
	case err == nil:
		n.lease.written, n.lease.renewed, n.lease.good, n.lease.failed = true, beat, beat, false
	case !n.lease.failed:
		n.lease.good, n.lease.failed = timing.Later(beat.Add(-beatPeriod), n.lease.renewed), true
	}
	return err
}

func (n *node) writeLease(ctx context.Context, beat metav1.MicroTime) error {
	leases := n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	patch := func() error {
		patch := []byte(`{"spec":{"renewTime":"` + beat.UTC().Format(metav1.RFC3339Micro) + `"}}`)
		return n.client.CoordinationV1().RESTClient().Patch(types.MergePatchType).
			Namespace(corev1.NamespaceNodeLease).Resource("leases").Name(n.name).Body(patch).Do(ctx).Error()
	}
	n.mu.Lock()
	written := n.lease.written
	n.mu.Unlock()
	if written {
		if err := patch(); !apierrors.IsNotFound(err) {
			return err
		}
	}
	object, err := n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	if err != nil {
		return err // the owner of a Lease is its node, so that it goes with the node
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.name, Namespace: corev1.NamespaceNodeLease,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.name, UID: object.UID}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(n.name), LeaseDurationSeconds: ptr.To(int32(leaseSeconds)), RenewTime: &beat},
	}
	if _, err = leases.Create(ctx, lease, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		err = patch()
	}
	return err
}
