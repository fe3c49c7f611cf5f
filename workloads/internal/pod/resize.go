package pod

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/kubelet/events"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
)

// resizeRetryPeriod is the time after which a kubelet retries a deferred resize, if nothing has happened before.
const resizeRetryPeriod = 3 * time.Minute

// resize is the state of a pod's resize. The specification of Pod.api has the resources that the node has allocated,
// which containers get.
type resize struct {
	wanted              *corev1.Pod          // the newest version as it is on the server; read-only
	allocated           bool                 // the node has admitted the pod
	pending, inProgress *corev1.PodCondition // nil: there is none
	retryAt             time.Time            // when to retry a deferred resize
	updateAt            time.Time            // when running containers get their new resources; zero: they have them
}

// take replaces the version of the pod. It keeps the resources that the node has allocated.
func (p *Pod) take(api *corev1.Pod) {
	before := p.api
	p.resize.wanted = api
	if p.resize.allocated && !sameResources(before, api) {
		api = withResources(api, before)
	}
	p.use(api)
}

// use makes a version of the pod the one that the node has.
func (p *Pod) use(api *corev1.Pod) {
	p.api = api
	p.volumes.SetPod(api)
}

// sameResources reports whether the containers of two versions of a pod, and the pod itself, have the same resources.
func sameResources(a, b *corev1.Pod) bool {
	same := func(a, b []corev1.Container) bool {
		return slices.EqualFunc(a, b, func(a, b corev1.Container) bool { return apiequality.Semantic.DeepEqual(a.Resources, b.Resources) })
	}
	return apiequality.Semantic.DeepEqual(a.Spec.Resources, b.Spec.Resources) &&
		same(a.Spec.Containers, b.Spec.Containers) && same(a.Spec.InitContainers, b.Spec.InitContainers)
}

// withResources returns a copy of a pod with the resources of another version of it.
func withResources(pod, from *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.Resources = from.Spec.Resources.DeepCopy()
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Resources = *from.Spec.Containers[i].Resources.DeepCopy()
	}
	for i := range pod.Spec.InitContainers {
		pod.Spec.InitContainers[i].Resources = *from.Spec.InitContainers[i].Resources.DeepCopy()
	}
	return pod
}

// allocate allocates the resources of the specification if the node has them, and otherwise defers the resize.
func (p *Pod) allocate(ctx context.Context, now time.Time) {
	r := &p.resize
	if sameResources(p.api, r.wanted) {
		r.pending = nil
		return
	}
	looked := r.pending != nil && r.pending.ObservedGeneration == r.wanted.Generation
	if looked && now.Before(r.retryAt) {
		return
	}
	object := p.node.config.Object()
	if object == nil {
		return // it enqueues the pod again
	}
	if why := rejection(ctx, p.node, r.wanted, object); why != nil {
		r.retryAt = now.Add(resizeRetryPeriod)
		if !looked {
			p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeWarning, events.ResizeDeferred, "%s",
				events.PodResizePendingMsg(p.node.config.Logger, r.wanted, why.reason, why.message, r.wanted.Generation))
		}
		r.pending = resizeCondition(corev1.PodResizePending, r.pending, corev1.PodReasonDeferred, why.message, r.wanted.Generation, now)
		return
	}
	p.use(r.wanted)
	r.pending, r.retryAt = nil, time.Time{}
	r.inProgress = resizeCondition(corev1.PodResizeInProgress, nil, "", "", p.api.Generation, now)
	p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeNormal, events.ResizeStarted, "%s", events.PodResizeStartedMsg(p.node.config.Logger, p.api, p.api.Generation))
	p.starts.dirty = true
	if p.volumes.HasAPIFiles() {
		p.volumes.RefreshBy(now) // volumes of the downward API
	}
}

func resizeCondition(kind corev1.PodConditionType, before *corev1.PodCondition, reason, message string, generation int64, now time.Time) *corev1.PodCondition {
	stamp := metav1.NewTime(now).Rfc3339Copy()
	c := &corev1.PodCondition{
		Type: kind, Status: corev1.ConditionTrue, LastProbeTime: stamp, LastTransitionTime: stamp, ObservedGeneration: generation, Reason: reason, Message: message,
	}
	if before != nil && before.Reason == reason {
		c.LastTransitionTime = before.LastTransitionTime
	}
	return c
}

// actuate gives running containers their new resources when it is time, and ends the resize when all have them. A
// container that must restart gets them with its next start.
func (p *Pod) actuate(ctx context.Context, now time.Time) {
	r := &p.resize
	if !r.updateAt.IsZero() && !now.Before(r.updateAt) {
		r.updateAt = time.Time{}
		for _, c := range p.running() {
			if spec := p.specOf(c.spec.Name); spec != nil && !c.resizesByRestart(spec) {
				c.resources = spec.Resources
				if err := c.cgroup.Set(p.api, spec, &c.resources, p.node.config.Spec.Status.Capacity); err != nil {
					p.node.config.Report(fmt.Errorf("the cgroup of container %s of pod %s: %w", spec.Name, p.key(), err))
				}
			}
		}
	}
	if r.inProgress == nil || slices.ContainsFunc(p.running(), func(c *container) bool {
		spec := p.specOf(c.spec.Name)
		return spec != nil && c.resizes(spec)
	}) {
		return
	}
	p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeNormal, events.ResizeCompleted, "%s",
		events.PodResizeCompletedMsg(p.node.config.Logger, p.api, r.inProgress.ObservedGeneration))
	r.inProgress = nil
	p.node.retryResizes()
}

// beginUpdates schedules the update of running containers that do not restart for it. A kubelet notices within a second
// that they have new resources.
func (p *Pod) beginUpdates(now time.Time) {
	if !p.resize.updateAt.IsZero() {
		return
	}
	for _, c := range p.running() {
		if spec := p.specOf(c.spec.Name); spec != nil && c.resizes(spec) && !c.resizesByRestart(spec) {
			p.resize.updateAt = now.Add(p.jitter().Between("resize", 100*time.Millisecond, time.Second))
			return
		}
	}
}

// resizable are the resources that can change while a container runs.
var resizable = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// resizes reports whether a running container does not have the resources of a specification yet.
func (c *container) resizes(spec *corev1.Container) bool {
	return (c.kind == cri.Main || c.kind == cri.Sidecar) && slices.ContainsFunc(resizable, func(name corev1.ResourceName) bool { return c.differs(spec, name) })
}

// resizesByRestart reports whether the container restarts to get the resources of a specification, by its resizePolicy.
func (c *container) resizesByRestart(spec *corev1.Container) bool {
	return c.running() && c.resizes(spec) && slices.ContainsFunc(spec.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		return policy.RestartPolicy == corev1.RestartContainer && c.differs(spec, policy.ResourceName)
	})
}

func (c *container) differs(spec *corev1.Container, name corev1.ResourceName) bool {
	differ := func(a, b corev1.ResourceList) bool {
		x, y := a[name], b[name]
		return x.Cmp(y) != 0
	}
	return differ(c.resources.Requests, spec.Resources.Requests) || differ(c.resources.Limits, spec.Resources.Limits)
}

// retryResizes retries the deferred resizes: first those of pods that do not ask for more, then by priority, by QoS
// class, and by waiting time.
func (n *Node) retryResizes() {
	var deferred []*Pod
	for _, p := range n.pods {
		if p.resize.pending != nil {
			deferred = append(deferred, p)
		}
	}
	slices.SortFunc(deferred, func(a, b *Pod) int {
		return cmp.Or(
			cmp.Compare(rank(!a.asksForMore()), rank(!b.asksForMore())),
			-cmp.Compare(priority(a.api), priority(b.api)),
			cmp.Compare(rank(v1qos.GetPodQOS(a.api) == corev1.PodQOSGuaranteed), rank(v1qos.GetPodQOS(b.api) == corev1.PodQOSGuaranteed)),
			a.resize.pending.LastTransitionTime.Compare(b.resize.pending.LastTransitionTime.Time),
			cmp.Compare(a.key(), b.key()),
		)
	})
	for _, p := range deferred {
		p.resize.retryAt = time.Time{}
		n.config.Enqueue(p.uid)
	}
}

// asksForMore reports whether the pod asks for more than the node has allocated.
func (p *Pod) asksForMore() bool {
	has, wants := resourcehelper.PodRequests(p.api, resourcehelper.PodResourcesOptions{}), resourcehelper.PodRequests(p.resize.wanted, resourcehelper.PodResourcesOptions{})
	return wants.Cpu().Cmp(*has.Cpu()) > 0 || wants.Memory().Cmp(*has.Memory()) > 0
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// resizeConditions returns the conditions of a running resize.
func (p *Pod) resizeConditions() []corev1.PodCondition {
	var conditions []corev1.PodCondition
	for _, c := range []*corev1.PodCondition{p.resize.pending, p.resize.inProgress} {
		if c != nil {
			conditions = append(conditions, *c)
		}
	}
	return conditions
}

// adoptResize takes over the resources that a former agent has allocated, from the status.
func (p *Pod) adoptResize() {
	p.resize.allocated = true
	for _, c := range p.api.Status.Conditions {
		switch c.Type {
		case corev1.PodResizePending:
			p.resize.pending = c.DeepCopy()
		case corev1.PodResizeInProgress:
			p.resize.inProgress = c.DeepCopy()
		}
	}
	if p.resize.pending == nil {
		return
	}
	allocated := p.api.DeepCopy()
	podutil.VisitContainers(&allocated.Spec, podutil.InitContainers|podutil.Containers, func(c *corev1.Container, _ podutil.ContainerType) bool {
		for _, s := range slices.Concat(p.api.Status.ContainerStatuses, p.api.Status.InitContainerStatuses) {
			if s.Name == c.Name && s.Resources != nil {
				c.Resources = *s.Resources.DeepCopy()
				c.Resources.Requests = s.AllocatedResources.DeepCopy()
			}
		}
		return true
	})
	p.use(allocated)
}
