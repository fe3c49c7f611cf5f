package node

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Node is a handle of a node. Its methods do to the node what happens to nodes in real clusters. They are safe for
// concurrent use.
type Node struct{ node *node }

// Name returns the name of the node.
func (n *Node) Name() string { return n.node.name }

// HeartbeatsAnnotation of a Node object stops the kubelet of the node while its value is "stopped": kubectl annotate node n1
// fakecluster.io/heartbeats=stopped.
const HeartbeatsAnnotation = "fakecluster.io/heartbeats"

// applyAnnotation stops or resumes the heartbeats by the annotation.
func (n *node) applyAnnotation(ctx context.Context) {
	object := n.object()
	if object == nil {
		return
	}
	halted := object.Annotations[HeartbeatsAnnotation] == "stopped"
	if halted == n.halted {
		return
	}
	n.halted = halted
	act := (&Node{n}).ResumeHeartbeats
	if halted {
		act = (&Node{n}).StopHeartbeats
	}
	if err := act(ctx); err != nil && ctx.Err() == nil {
		n.registration.logger.Info("The heartbeats of the node", "stopped", halted, "err", err)
	}
}

// StopHeartbeats stops the kubelet of the node: it neither renews the Lease nor does anything for its pods. Containers
// go on. After 50 seconds the node lifecycle controller sets the node's condition Ready to Unknown and taints it. 300
// seconds later, pods that do not tolerate the taint are deleted; they remain Terminating until the node is back.
// StopHeartbeats renews the Lease once more, so the time begins now.
func (n *Node) StopHeartbeats(ctx context.Context) error {
	if !n.node.registration.beats() {
		return nil
	}
	err := n.node.registration.renew(ctx, time.Now())
	n.node.halt(true)
	return err
}

// ResumeHeartbeats starts the kubelet of the node again: it writes its Lease, its status and the statuses of its pods,
// and syncs them.
func (n *Node) ResumeHeartbeats(ctx context.Context) error {
	if !n.node.halt(false) {
		return nil
	}
	defer n.node.queue.addAll()
	if err := n.node.registration.renew(ctx, time.Now()); err != nil {
		return err
	}
	return n.node.registration.writeStatus(ctx, nil)
}

// SetPressure sets or clears a condition: MemoryPressure, DiskPressure or PIDPressure. The node lifecycle controller
// taints the node accordingly. The node does not evict pods.
func (n *Node) SetPressure(ctx context.Context, kind corev1.NodeConditionType, on bool) error {
	for _, p := range pressures {
		if p.kind != kind {
			continue
		}
		former := n.node.registration.setPressure(kind, on)
		if err := n.node.registration.writeStatus(ctx, nil); err != nil || former == on {
			return err
		}
		change := p.better
		if on {
			change = p.worse
		}
		n.node.registration.events.Node(ctx, corev1.EventTypeNormal, change, "Node %s status is now: %s", n.node.name, change)
		return nil
	}
	return fmt.Errorf("condition %s of node %s cannot be set: use %s, %s or %s", kind, n.node.name,
		corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure)
}

// admin returns a client that acts as the administrator.
func (n *Node) admin() (kubernetes.Interface, error) {
	return n.node.agent.config.Client("kubernetes-admin", "system:masters")
}

// Cordon makes the node unschedulable, as kubectl cordon does. Its pods go on.
func (n *Node) Cordon(ctx context.Context) error { return n.schedulable(ctx, false) }

// Uncordon makes the node schedulable again.
func (n *Node) Uncordon(ctx context.Context) error { return n.schedulable(ctx, true) }

func (n *Node) schedulable(ctx context.Context, on bool) error {
	admin, err := n.admin()
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, !on)
	_, err = admin.CoreV1().Nodes().Patch(ctx, n.node.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

// Delete deletes the Node object, as kubectl delete node does. The node does not register again, and the pod garbage
// collector deletes its pods.
func (n *Node) Delete(ctx context.Context) error {
	admin, err := n.admin()
	if err != nil {
		return err
	}
	return admin.CoreV1().Nodes().Delete(ctx, n.node.name, metav1.DeleteOptions{})
}
