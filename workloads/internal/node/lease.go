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

	"github.com/fakecluster/fakecluster/internal/bubble"
)

// leaseSeconds is the duration that kubelets write into Leases.
const leaseSeconds = 40

// periods returns how often Leases are renewed, and how often an unchanged status of a node is written. A kubelet
// does it every 10 seconds and every 5 minutes. In a bubble, where each write of an idle hour takes real time, Leases
// are renewed as rarely as keeps a node ready: the node lifecycle controller waits 50 seconds, and looks every 5.
func periods() (lease, status time.Duration) {
	if bubble.Inside() {
		return 40 * time.Second, time.Hour
	}
	return 10 * time.Second, 5 * time.Minute
}

// lease is what a node has to know about its Lease.
type lease struct {
	written bool
}

// heartbeats renews the Leases of all nodes with one timer, and writes the statuses of the nodes from time to time.
func (a *Agent) heartbeats(ctx context.Context) {
	renew, write := periods()
	ticker := time.NewTicker(renew)
	defer ticker.Stop()
	reported := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		report := time.Since(reported) >= write
		if report {
			reported = time.Now()
		}
		for _, n := range a.nodes {
			if !n.beats() {
				continue
			}
			// A heartbeat that fails is made up for by the next one, as in a kubelet.
			if err := n.renew(ctx); err != nil {
				n.logger.V(2).Info("The Lease is not renewed", "err", err)
			}
			if report {
				if err := n.writeStatus(ctx, n.object()); err != nil {
					n.logger.V(2).Info("The status of the node is not written", "err", err)
				}
			}
		}
	}
}

// beats reports whether the node sends heartbeats: it is registered, not stopped, and its object is not deleted.
func (n *node) beats() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.registered && !n.stopped
}

// renew writes the time into the Lease, and creates the Lease first if there is none.
func (n *node) renew(ctx context.Context) error {
	leases := n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NowMicro()
	n.mu.Lock()
	written := n.lease.written
	n.mu.Unlock()
	if written {
		patch := []byte(`{"spec":{"renewTime":"` + now.UTC().Format(metav1.RFC3339Micro) + `"}}`)
		err := n.client.CoordinationV1().RESTClient().Patch(types.MergePatchType).
			Namespace(corev1.NamespaceNodeLease).Resource("leases").Name(n.name).Body(patch).Do(ctx).Error()
		if !apierrors.IsNotFound(err) {
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
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(n.name), LeaseDurationSeconds: ptr.To(int32(leaseSeconds)), RenewTime: &now},
	}
	_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil // the next renewal writes it
	}
	if err == nil {
		n.mu.Lock()
		n.lease.written = true
		n.mu.Unlock()
	}
	return err
}
