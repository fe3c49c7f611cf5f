package node

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// register creates the Node object with its status, or brings an existing one up to date. Its conditions make
// the node lifecycle controller take off the taint that admission gives to a new node.
func (n *node) register(ctx context.Context) {
	defer n.agent.checkReady()
	object := n.spec.DeepCopy()
	n.setConditions(&object.Status, time.Now())
	var err error
	if n.adopted {
		err = n.label(ctx)
	} else {
		object, err = n.client.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{})
	}
	if n.adopted && err == nil || apierrors.IsAlreadyExists(err) {
		if object, err = n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{}); err == nil {
			n.images.TakeOver(object.Status.Images)
			n.images.Report()
			err = n.writeStatus(ctx, object)
		}
	}
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		n.mu.Lock()
		n.rejected = true
		n.mu.Unlock()
		n.agent.config.Report(fmt.Errorf("node %s does not exist, because it cannot be registered: %w", n.name, err))
		return
	}
	n.ensureCSINode(ctx, object)
	if err := n.renew(ctx, time.Now()); err != nil && ctx.Err() == nil {
		n.agent.config.Report(fmt.Errorf("node %s becomes NotReady, because its Lease cannot be written: %w", n.name, err))
	}
	n.mu.Lock()
	n.registered = true
	n.mu.Unlock()
	n.events.Node(ctx, corev1.EventTypeNormal, "Starting", "Starting kubelet.")
}

// writeStatus patches the status of the Node object, as a kubelet does from time to time and after each change. current
// is the object as it is; nil: it is read.
func (n *node) writeStatus(ctx context.Context, current *corev1.Node) (err error) {
	if current == nil {
		if current, err = n.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	status := n.statusAfter(&current.Status)
	before, err := json.Marshal(corev1.Node{Status: current.Status})
	if err != nil {
		return err
	}
	after, err := json.Marshal(corev1.Node{Status: *status})
	if err != nil {
		return err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Node{})
	if err != nil {
		return err
	}
	return n.client.CoreV1().RESTClient().Patch(types.StrategicMergePatchType).
		Resource("nodes").Name(n.name).SubResource("status").Body(patch).Do(ctx).Error()
}

// statusAfter returns the status that a node writes in the place of another one. It keeps the conditions of others, and resources that somebody
// has added to the capacity, as the documentation of Kubernetes says how to.
func (n *node) statusAfter(current *corev1.NodeStatus) *corev1.NodeStatus {
	status := n.spec.Status.DeepCopy()
	for name, quantity := range current.Capacity {
		if _, own := status.Capacity[name]; !own {
			status.Capacity[name], status.Allocatable[name] = quantity, quantity
		}
	}
	status.Conditions = current.DeepCopy().Conditions
	status.VolumesAttached, status.VolumesInUse = current.VolumesAttached, current.VolumesInUse
	status.Images = n.images.Status()
	n.setConditions(status, time.Now())
	return status
}

// deviates reports whether the status of the Node object is not the one that the node would write, the times of heartbeats aside.
func (n *node) deviates(object *corev1.Node) bool {
	if object.ResourceVersion == n.compared {
		return false
	}
	n.compared = object.ResourceVersion
	status := n.statusAfter(&object.Status)
	for i := range status.Conditions {
		if i < len(object.Status.Conditions) {
			status.Conditions[i].LastHeartbeatTime = object.Status.Conditions[i].LastHeartbeatTime
		}
	}
	return !equality.Semantic.DeepEqual(*status, object.Status)
}

// condition is a condition of a node in its two states.
type condition struct {
	kind         corev1.NodeConditionType
	healthy, ill reason
	// The reasons of the events when it changes.
	better, worse string
}

var pressures = []condition{
	{corev1.NodeMemoryPressure, reason{"KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
		reason{"KubeletHasInsufficientMemory", "kubelet has insufficient memory available"}, "NodeHasSufficientMemory", "NodeHasInsufficientMemory"},
	{corev1.NodeDiskPressure, reason{"KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		reason{"KubeletHasDiskPressure", "kubelet has disk pressure"}, "NodeHasNoDiskPressure", "NodeHasDiskPressure"},
	{corev1.NodePIDPressure, reason{"KubeletHasSufficientPID", "kubelet has sufficient PID available"},
		reason{"KubeletHasInsufficientPID", "kubelet has insufficient PID available"}, "NodeHasSufficientPID", "NodeHasInsufficientPID"},
}

// setConditions writes the conditions in the order of the kubelet.
func (n *node) setConditions(s *corev1.NodeStatus, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range pressures {
		why, value := p.healthy, corev1.ConditionFalse
		if n.pressure[p.kind] {
			why, value = p.ill, corev1.ConditionTrue
		}
		setCondition(s, p.kind, value, why, now)
	}
	setCondition(s, corev1.NodeReady, corev1.ConditionTrue, reason{"KubeletReady", "kubelet is posting ready status"}, now)
}

func setCondition(s *corev1.NodeStatus, kind corev1.NodeConditionType, value corev1.ConditionStatus, why reason, now time.Time) {
	stamp := metav1.NewTime(now)
	c := corev1.NodeCondition{
		Type: kind, Status: value, Reason: why.reason, Message: why.message, LastHeartbeatTime: stamp, LastTransitionTime: stamp,
	}
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			if s.Conditions[i].Status == value {
				c.LastTransitionTime = s.Conditions[i].LastTransitionTime
			}
			s.Conditions[i] = c
			return
		}
	}
	s.Conditions = append(s.Conditions, c)
}
