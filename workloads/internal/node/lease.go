package node

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/timing"
)

const (
	// leaseSeconds is the duration that kubelets write into Leases, and beatPeriod the interval at which they renew
	// them.
	leaseSeconds = 40
	beatPeriod   = 10 * time.Second
)

// lease is the state of a node's Lease.
type lease struct {
	written bool
	tried   time.Time // the last beat that was written, or should have been
	renewed time.Time // renewTime of the object
	failed  bool      // the last write has failed
	good    time.Time // the last beat before the writes failed, or before the heartbeats were stopped
}

// beat is [Agent.Beat] for the node; last is the time of the last beat of all nodes.
func (r *registration) beat(last time.Time) (renewed time.Time, beats, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.registered || !r.lease.written {
		return time.Time{}, false, false
	}
	if r.stopped || r.lease.failed {
		return r.lease.good, false, true
	}
	return timing.Later(last, r.lease.renewed), true, true
}

// beats reports whether the node sends heartbeats: it is registered and not stopped, and its object is not deleted.
func (r *registration) beats() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.registered && !r.stopped
}

// lags reports whether the node has neither written a beat nor tried to.
func (r *registration) lags(beat time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.registered && !r.stopped && r.lease.tried.Before(beat)
}

func (r *registration) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lease.failed && !r.stopped
}

// renew writes a time into the Lease, and creates the Lease first if there is none.
func (r *registration) renew(ctx context.Context, beat time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, beatPeriod)
	defer cancel()
	err := r.writeLease(ctx, metav1.NewMicroTime(beat))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease.tried = timing.Later(r.lease.tried, beat)
	switch {
	case err == nil:
		r.lease.written, r.lease.renewed, r.lease.good, r.lease.failed = true, beat, beat, false
	case !r.lease.failed:
		r.lease.good, r.lease.failed = timing.Later(beat.Add(-beatPeriod), r.lease.renewed), true
	}
	return err
}

func (r *registration) writeLease(ctx context.Context, beat metav1.MicroTime) error {
	leases := r.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	patch := func() error {
		patch := []byte(`{"spec":{"renewTime":"` + beat.UTC().Format(metav1.RFC3339Micro) + `"}}`)
		return r.client.CoordinationV1().RESTClient().Patch(types.MergePatchType).
			Namespace(corev1.NamespaceNodeLease).Resource("leases").Name(r.spec.Name).Body(patch).Do(ctx).Error()
	}
	r.mu.Lock()
	written := r.lease.written
	r.mu.Unlock()
	if written {
		if err := patch(); !apierrors.IsNotFound(err) {
			return err
		}
	}
	object, err := r.client.CoreV1().Nodes().Get(ctx, r.spec.Name, metav1.GetOptions{})
	if err != nil {
		return err // the node owns the Lease, which is deleted with it
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.spec.Name, Namespace: corev1.NamespaceNodeLease,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: r.spec.Name, UID: object.UID}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(r.spec.Name), LeaseDurationSeconds: ptr.To(int32(leaseSeconds)), RenewTime: &beat},
	}
	if _, err = leases.Create(ctx, lease, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		err = patch()
	}
	return err
}
