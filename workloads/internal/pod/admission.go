package pod

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	corev1nodeaffinity "k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/kubelet"
)

// admit checks whether the node admits the pod, as the kubelet's predicates do. It reports false for a pod that it has
// rejected, for good. It does not use the kubelet's own handler, which compares with the operating system of the
// process.
func (p *Pod) admit(ctx context.Context, now time.Time) bool {
	if p.api.Status.Phase == corev1.PodRunning && p.hasCode() && p.volumes.AwaitsCertificates() {
		// Containers of the former agent run on. Their keys are not in the status, so they start again when they have
		// others.
		p.volumes.Mount(ctx, true, now) // it records an Event about what is missing
		return false
	}
	if p.adopt(ctx) {
		p.node.config.Enqueue(p.uid) // all are taken over before one of them is resized
		return false
	}
	node := p.node.config.Object()
	if node == nil {
		return false // the object arrives with the informer, which enqueues the pod again
	}
	why := rejection(ctx, p.node, p.api, node)
	if why == nil {
		p.admitted, p.resize.allocated = true, true
		p.node.View.count(func(c *kubelet.Counts) {
			c.Sizes.Observe(float64(len(p.api.Spec.Containers)), 1)
			c.PodStarts.Observe(0, 1) // a kubelet also observes the first sync of each pod
		})
		return true
	}
	p.node.config.Events.Pod(ctx, p.api, corev1.EventTypeWarning, why.reason, "%s", why.message)
	p.publish(ctx, corev1.PodStatus{
		QOSClass: v1qos.GetPodQOS(p.api), Phase: corev1.PodFailed, Reason: why.reason, Message: "Pod was rejected: " + why.message,
		Conditions: p.api.Status.Conditions,
	}, now)
	p.admitted, p.termination.completed, p.termination.rejected = true, true, true
	p.termination.ending = &ending{}
	return false
}

// rejection returns the reason why the node does not admit the pod; nil: it does.
func rejection(ctx context.Context, n *Node, pod *corev1.Pod, object *corev1.Node) *reason {
	if forbidden := forbiddenSysctl(ctx, pod); forbidden != nil {
		return forbidden
	}
	if os, ok := pod.Labels[corev1.LabelOSStable]; ok && os != object.Labels[corev1.LabelOSStable] {
		return &reason{"PodOSSelectorNodeLabelDoesNotMatch", "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"}
	}
	if pod.Spec.OS != nil && string(pod.Spec.OS.Name) != object.Status.NodeInfo.OperatingSystem {
		return &reason{"PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"}
	}
	if s := pod.Spec.SecurityContext; s != nil && ptr.Deref(s.SupplementalGroupsPolicy, "") == corev1.SupplementalGroupsPolicyStrict && !hasGroupsPolicy(object) {
		return &reason{lifecycle.SupplementalGroupsPolicyNotSupported, "SupplementalGroupsPolicy=Strict is not supported in this node"}
	}
	info := n.inUse(pod)
	info.SetNode(object)
	if why := unfit(withoutClusterResources(pod, info), info); why != nil {
		return why
	}
	noExecute := func(t *corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }
	if _, bad := corev1helpers.FindMatchingUntoleratedTaint(n.config.Logger, object.Spec.Taints, pod.Spec.Tolerations, noExecute,
		utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)); bad {
		return failed(tainttoleration.Name, tainttoleration.ErrReasonNotMatch)
	}
	return nil
}

// hasGroupsPolicy reports whether the runtime of the node can give a process no groups but those of its pod.
func hasGroupsPolicy(object *corev1.Node) bool {
	return object.Status.Features != nil && ptr.Deref(object.Status.Features.SupplementalGroupsPolicy, false)
}

// info returns the pod as the scheduler sees it. It computes the resources of a version of the pod once.
func (p *Pod) info() *framework.PodInfo {
	if p.counted == nil || p.counted.Pod != p.api {
		p.counted, _ = framework.NewPodInfo(p.api) // an error is about affinity, which does not matter here
	}
	return p.counted
}

// unfit returns why the node is not one that the scheduler would choose: its resources, its labels, its name and its ports.
func unfit(pod *corev1.Pod, node *framework.NodeInfo) *reason {
	gate := utilfeature.DefaultFeatureGate
	lacking := noderesources.Fits(pod, node, nil, noderesources.ResourceRequestsOptions{
		EnablePodLevelResources:           gate.Enabled(features.PodLevelResources),
		EnableDRAExtendedResource:         gate.Enabled(features.DRAExtendedResource),
		EnableDRANodeAllocatableResources: gate.Enabled(features.DRANodeAllocatableResources),
	})
	if len(lacking) > 0 {
		r := lacking[0]
		return &reason{"OutOf" + string(r.ResourceName), fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d",
			r.ResourceName, r.Requested, r.Used, r.Capacity)}
	}
	if matches, err := corev1nodeaffinity.GetRequiredNodeAffinity(pod).Match(node.Node()); err != nil || !matches {
		return failed(nodeaffinity.Name, nodeaffinity.ErrReasonPod)
	}
	if !nodename.Fits(pod, node) {
		return failed(nodename.Name, nodename.ErrReason)
	}
	if !nodeports.Fits(pod, node) {
		return failed(nodeports.Name, nodeports.ErrReason)
	}
	return nil
}

// failed returns the reason of a predicate of the kubelet that the pod does not meet.
func failed(name, why string) *reason {
	return &reason{name, fmt.Sprintf("Predicate %s failed: %s", name, why)}
}

// withoutClusterResources returns the pod without requests of extended resources that the node does not have. They
// belong to the cluster, and the scheduler has counted them.
func withoutClusterResources(pod *corev1.Pod, info *framework.NodeInfo) *corev1.Pod {
	pod = pod.DeepCopy()
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if _, has := info.Allocatable.ScalarResources[name]; v1helper.IsExtendedResourceName(name) && !has {
					delete(containers[i].Resources.Requests, name)
				}
			}
		}
	}
	return pod
}

// adopt takes over a pod of a former agent, by the running containers in its status. It reports whether there was
// something to take over.
func (p *Pod) adopt(ctx context.Context) bool {
	s := &p.api.Status
	p.adoptResize()
	for _, ip := range s.PodIPs {
		if ip.IP != p.node.config.IP {
			p.ips = append(p.ips, ip.IP)
		}
	}
	p.sandbox.dns = p.dnsConfig(ctx)
	adopted := false
	for _, statuses := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range statuses {
			adopted = p.adoptContainer(ctx, &statuses[i]) || adopted
		}
	}
	if !adopted || podutil.IsPodPhaseTerminal(s.Phase) {
		p.ips, p.resize = nil, resize{wanted: p.resize.wanted}
		p.use(p.resize.wanted)
		return false
	}
	p.admitted, p.sandbox.ready = true, true
	if !p.hasCode() {
		p.volumes.MarkMounted() // the next start of a container mounts the others
	}
	for _, ip := range p.ips {
		p.node.taken[ip] = p.uid
	}
	return true
}

func (p *Pod) adoptContainer(ctx context.Context, s *corev1.ContainerStatus) bool {
	spec := p.specOf(s.Name)
	if spec == nil {
		return false
	}
	kind := cri.KindOf(p.api, s.Name)
	dead := func(t *corev1.ContainerStateTerminated, attempt int) {
		p.put(&container{
			spec: spec, kind: kind, attempt: attempt, id: trimID(t.ContainerID), startedAt: t.StartedAt.Time,
			exit:   &cri.Exit{At: t.FinishedAt.Time, Code: t.ExitCode, Reason: t.Reason, Message: t.Message},
			served: withoutLog(trimID(t.ContainerID)),
		})
	}
	attempt := int(s.RestartCount)
	if t := s.LastTerminationState.Terminated; t != nil {
		if s.State.Waiting != nil {
			dead(t, attempt)
		} else {
			dead(t, attempt-1)
		}
	}
	switch {
	case s.State.Running != nil:
		plan := p.node.config.Programs.Plan(p.api, spec, kind, attempt)
		p.starts.plans[spec.Name] = plan
		p.node.config.Images.Add(spec.Image)
		p.reconfigure(ctx, spec)
		c := p.container(spec, kind, attempt, s.State.Running.StartedAt.Time)
		c.id = trimID(s.ContainerID)
		if s.Resources != nil {
			c.resources = *s.Resources
			if err := c.cgroup.Set(p.api, spec, &c.resources, p.node.config.Spec.Status.Capacity); err != nil {
				p.node.config.Report(fmt.Errorf("the cgroup of container %s of pod %s: %w", spec.Name, p.key(), err))
			}
		}
		if s.Started != nil && *s.Started {
			c.verdicts[cri.Startup] = probePassed
		}
		if s.Ready {
			c.verdicts[cri.Readiness] = probePassed
		}
		p.put(c)
	case s.State.Terminated != nil:
		dead(s.State.Terminated, attempt)
	}
	return p.latest(spec.Name) != nil
}

// specOf returns the container of the pod with this name.
func (p *Pod) specOf(name string) *corev1.Container {
	var found *corev1.Container
	podutil.VisitContainers(&p.api.Spec, podutil.AllContainers, func(c *corev1.Container, _ podutil.ContainerType) bool {
		if c.Name == name {
			found = c
		}
		return found == nil
	})
	return found
}

func trimID(id string) string {
	if len(id) > len("containerd://") {
		return id[len("containerd://"):]
	}
	return id
}
