package node

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/workloads/internal/image"
	"github.com/fakecluster/fakecluster/workloads/internal/recorder"
)

// registration creates and updates the Node object, the Lease and the CSINode of a node. Its methods are safe for
// concurrent use, except for register and deviates.
type registration struct {
	spec    *corev1.Node // as it is registered
	client  kubernetes.Interface
	events  *recorder.Recorder
	images  *image.Store
	logger  klog.Logger
	report  func(error)
	adopted bool // somebody else has created the object

	compared string // revision of the object; of the goroutine of heartbeats

	mu           sync.Mutex
	registered   bool
	rejected     bool // the server has rejected the Node object
	stopped      bool // by StopHeartbeats
	lacksCSINode bool
	pressure     map[corev1.NodeConditionType]bool
	lease        lease
}

// register creates the Node object with its status, or updates an existing one. By its conditions, the node lifecycle
// controller removes the taint that admission adds to a new node.
func (r *registration) register(ctx context.Context) {
	object := r.spec.DeepCopy()
	r.setConditions(&object.Status, time.Now())
	var err error
	if r.adopted {
		err = r.label(ctx)
	} else {
		object, err = r.client.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{})
	}
	if r.adopted && err == nil || apierrors.IsAlreadyExists(err) {
		if object, err = r.client.CoreV1().Nodes().Get(ctx, r.spec.Name, metav1.GetOptions{}); err == nil {
			r.images.TakeOver(object.Status.Images)
			r.images.Report()
			err = r.writeStatus(ctx, object)
		}
	}
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		r.mu.Lock()
		r.rejected = true
		r.mu.Unlock()
		r.report(fmt.Errorf("node %s does not exist: its registration failed: %w", r.spec.Name, err))
		return
	}
	r.ensureCSINode(ctx, object)
	if err := r.renew(ctx, time.Now()); err != nil && ctx.Err() == nil {
		r.report(fmt.Errorf("node %s becomes NotReady: its Lease cannot be written: %w", r.spec.Name, err))
	}
	r.mu.Lock()
	r.registered = true
	r.mu.Unlock()
	r.events.Node(ctx, corev1.EventTypeNormal, "Starting", "Starting kubelet.")
}

// writeStatus patches the status of the Node object, as a kubelet does from time to time and after each change. current
// is the current object; nil: it is read.
func (r *registration) writeStatus(ctx context.Context, current *corev1.Node) (err error) {
	if current == nil {
		if current, err = r.client.CoreV1().Nodes().Get(ctx, r.spec.Name, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	status := r.statusAfter(&current.Status)
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
	return r.client.CoreV1().RESTClient().Patch(types.StrategicMergePatchType).
		Resource("nodes").Name(r.spec.Name).SubResource("status").Body(patch).Do(ctx).Error()
}

// statusAfter returns the status with which a node replaces the current one. It keeps conditions of other clients, and
// resources that they have added to the capacity, which Kubernetes documents ("Advertise Extended Resources for a
// Node").
func (r *registration) statusAfter(current *corev1.NodeStatus) *corev1.NodeStatus {
	status := r.spec.Status.DeepCopy()
	for name, quantity := range current.Capacity {
		if _, own := status.Capacity[name]; !own {
			status.Capacity[name], status.Allocatable[name] = quantity, quantity
		}
	}
	status.Conditions = current.DeepCopy().Conditions
	status.VolumesAttached, status.VolumesInUse = current.VolumesAttached, current.VolumesInUse
	status.Images = r.images.Status()
	r.setConditions(status, time.Now())
	return status
}

// deviates reports whether the status of the Node object differs from the one that the node would write, apart from
// times of heartbeats.
func (r *registration) deviates(object *corev1.Node) bool {
	if object.ResourceVersion == r.compared {
		return false
	}
	r.compared = object.ResourceVersion
	status := r.statusAfter(&object.Status)
	for i := range status.Conditions {
		if i < len(object.Status.Conditions) {
			status.Conditions[i].LastHeartbeatTime = object.Status.Conditions[i].LastHeartbeatTime
		}
	}
	return !equality.Semantic.DeepEqual(*status, object.Status)
}

// reason is the reason and the message of a condition.
type reason struct{ reason, message string }

// condition is a condition of a node in its two states.
type condition struct {
	kind         corev1.NodeConditionType
	healthy, ill reason
	// The reasons of the Events when it changes.
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
func (r *registration) setConditions(s *corev1.NodeStatus, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range pressures {
		why, value := p.healthy, corev1.ConditionFalse
		if r.pressure[p.kind] {
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

// label adds missing labels of a kubelet to the object of an adopted node.
func (r *registration) label(ctx context.Context) error {
	object, err := r.client.CoreV1().Nodes().Get(ctx, r.spec.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	missing := maps.Clone(r.spec.Labels)
	maps.DeleteFunc(missing, func(key, _ string) bool { _, ok := object.Labels[key]; return ok })
	if len(missing) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": missing}})
	if err != nil {
		return err
	}
	_, err = r.client.CoreV1().Nodes().Patch(ctx, r.spec.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// state reports whether the node is registered, and whether the server has rejected it.
func (r *registration) state() (registered, rejected bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.registered, r.rejected
}

// stop stops the heartbeats, or resumes them. It reports whether they were stopped before.
func (r *registration) stop(on bool) (former bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	former, r.stopped = r.stopped, on
	return former
}

// setPressure sets or clears a condition, and returns its former value.
func (r *registration) setPressure(kind corev1.NodeConditionType, on bool) (former bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	former, r.pressure[kind] = r.pressure[kind], on
	return former
}
