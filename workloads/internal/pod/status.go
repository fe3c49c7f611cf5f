package pod

import (
	"bytes"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	runtimeutil "k8s.io/kubernetes/pkg/kubelet/kuberuntime/util"
	kubeletstatus "k8s.io/kubernetes/pkg/kubelet/status"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/image"
)

// runtimeStatus returns the pod in the type of the kubelet's functions for pods of a container runtime.
func (p *Pod) runtimeStatus() *kubecontainer.PodStatus {
	s := &kubecontainer.PodStatus{ID: p.api.UID, Name: p.api.Name, Namespace: p.api.Namespace, IPs: p.ips}
	for _, runs := range p.runs {
		for _, c := range runs {
			s.ContainerStatuses = append(s.ContainerStatuses, c.status())
		}
	}
	// The latest start of a container is the first one that upstream's functions find.
	slices.SortFunc(s.ContainerStatuses, func(a, b *kubecontainer.Status) int { return b.RestartCount - a.RestartCount })
	s.ActiveContainerStatuses = s.ContainerStatuses
	if p.sandbox.exists() {
		state := runtimeapi.PodSandboxState_SANDBOX_READY
		if p.sandbox.stopped {
			state = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
		}
		sandbox := &runtimeapi.PodSandboxStatus{
			Metadata: &runtimeapi.PodSandboxMetadata{},
			State:    state,
			Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: &runtimeapi.NamespaceOption{
				Network: runtimeutil.NetworkNamespaceForPod(p.api),
			}}},
		}
		if len(p.ips) > 0 {
			sandbox.Network = &runtimeapi.PodSandboxNetworkStatus{Ip: p.ips[0]}
		}
		s.SandboxStatuses = []*runtimeapi.PodSandboxStatus{sandbox}
	}
	return s
}

// generate returns the status of the pod, as generateAPIPodStatus of the kubelet does. terminal: no container of the pod
// will be started again.
func (p *Pod) generate(now time.Time, terminal bool) corev1.PodStatus {
	pod, old, runtime := p.api, &p.report.status, p.runtimeStatus()
	s := corev1.PodStatus{QOSClass: v1qos.GetPodQOS(pod)}
	for _, ip := range p.ips {
		s.PodIPs = append(s.PodIPs, corev1.PodIP{IP: ip})
	}
	if len(p.ips) > 0 {
		s.PodIP = p.ips[0]
	}
	s.ContainerStatuses = p.containerStatuses(pod.Spec.Containers, runtime, now)
	s.InitContainerStatuses = p.containerStatuses(pod.Spec.InitContainers, runtime, now)
	var ephemeral []corev1.Container
	for i := range pod.Spec.EphemeralContainers {
		ephemeral = append(ephemeral, corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	s.EphemeralContainerStatuses = p.containerStatuses(ephemeral, runtime, now)
	for i := range s.EphemeralContainerStatuses {
		s.EphemeralContainerStatuses[i].Started = nil // they are not probed
	}

	statuses := append(slices.Clone(s.InitContainerStatuses), s.ContainerStatuses...)
	s.Phase = phase(pod, statuses, terminal, kubecontainer.HasAnyActiveRegularContainerStarted(&pod.Spec, runtime))
	if !podutil.IsPodPhaseTerminal(s.Phase) && podutil.IsPodPhaseTerminal(pod.Status.Phase) {
		s.Phase = pod.Status.Phase
	}
	if s.Phase == old.Phase {
		s.Reason, s.Message = old.Reason, old.Message
	}
	if p.termination.failure != nil {
		s.Phase, s.Reason, s.Message = corev1.PodFailed, p.termination.failure.reason, p.termination.failure.message
	}

	for _, c := range pod.Status.Conditions {
		if !kubetypes.PodConditionByKubelet(c.Type) {
			s.Conditions = append(s.Conditions, c)
		}
	}
	if !terminal && !podutil.IsPodPhaseTerminal(s.Phase) {
		s.Conditions = append(s.Conditions, p.resizeConditions()...)
	}
	s.Conditions = append(s.Conditions, kubeletstatus.GeneratePodReadyToStartContainersCondition(pod, old, runtime))
	s.Conditions = append(s.Conditions, kubeletstatus.GeneratePodInitializedCondition(pod, old, statuses, s.Phase))
	s.Conditions = append(s.Conditions, kubeletstatus.GeneratePodReadyCondition(pod, old, s.Conditions, statuses, s.Phase))
	s.Conditions = append(s.Conditions, kubeletstatus.GenerateContainersReadyCondition(pod, old, statuses, s.Phase))
	s.Conditions = append(s.Conditions, corev1.PodCondition{
		Type:               corev1.PodScheduled,
		ObservedGeneration: podutil.CalculatePodConditionObservedGeneration(old, pod.Generation, corev1.PodScheduled),
		Status:             corev1.ConditionTrue,
	})

	s.HostIP = p.node.config.IP
	s.HostIPs = []corev1.HostIP{{IP: p.node.config.IP}}
	if kubecontainer.IsHostNetworkPod(pod) && s.PodIP == "" {
		s.PodIP, s.PodIPs = p.node.config.IP, []corev1.PodIP{{IP: p.node.config.IP}}
	}
	return s
}

// containerStatuses returns the statuses of the containers of one list of the spec, in its order.
func (p *Pod) containerStatuses(specs []corev1.Container, runtime *kubecontainer.PodStatus, now time.Time) []corev1.ContainerStatus {
	waiting := "ContainerCreating"
	if len(p.api.Spec.InitContainers) > 0 {
		waiting = "PodInitializing"
	}
	statuses := make([]corev1.ContainerStatus, 0, len(specs))
	for i := range specs {
		spec := &specs[i]
		s := corev1.ContainerStatus{
			Name: spec.Name, Image: spec.Image, Started: new(false),
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}},
		}
		for _, mount := range spec.VolumeMounts {
			m := corev1.VolumeMountStatus{Name: mount.Name, MountPath: mount.MountPath, ReadOnly: mount.ReadOnly}
			if mount.ReadOnly {
				m.RecursiveReadOnly = ptr.To(corev1.RecursiveReadOnlyDisabled)
				if r := mount.RecursiveReadOnly; r != nil && *r != corev1.RecursiveReadOnlyDisabled {
					m.RecursiveReadOnly = ptr.To(corev1.RecursiveReadOnlyEnabled)
				}
			}
			s.VolumeMounts = append(s.VolumeMounts, m)
		}
		if c := p.latest(spec.Name); c != nil {
			fill(&s, c, p.api, now)
			if previous := p.previous(spec.Name); previous != nil {
				s.LastTerminationState.Terminated = terminated(previous)
			}
		}
		// A container that is to start again is shown as waiting, once there is a reason.
		if r, ok := p.starts.reasons[spec.Name]; ok && kubecontainer.ShouldContainerBeRestarted(p.node.config.Logger, spec, p.api, runtime) && !p.succeededInit(spec.Name) {
			if s.State.Terminated != nil {
				s.LastTerminationState = s.State
			}
			s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: r.reason, Message: r.message}}
		}
		statuses = append(statuses, s)
	}
	if len(statuses) == 0 {
		return nil
	}
	return statuses
}

// fill sets the status of a container by one of its starts.
func fill(s *corev1.ContainerStatus, c *container, pod *corev1.Pod, now time.Time) {
	s.RestartCount = int32(c.attempt)
	s.Image, s.ImageID, s.ContainerID = image.Name(c.spec.Image), image.Ref(c.spec.Image), "containerd://"+c.id
	s.State = corev1.ContainerState{}
	if c.running() {
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.startedAt)}
	} else {
		s.State.Terminated = terminated(c)
	}
	s.Started = ptr.To(c.started())
	switch c.kind {
	case cri.Init:
		s.Ready = !c.running() && c.exit.Code == 0
	case cri.Main, cri.Sidecar:
		s.Ready = c.ready(now)
	case cri.Ephemeral:
	}
	spec := kubecontainer.GetContainerSpec(pod, c.spec.Name)
	if spec == nil {
		spec = c.spec
	}
	s.Resources, s.AllocatedResources = spec.Resources.DeepCopy(), spec.Resources.Requests
	if c.running() {
		s.Resources = c.resources.DeepCopy()
	}
	s.User = linuxUser(pod, spec)
}

func terminated(c *container) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		ExitCode: c.exit.Code, Reason: c.exit.Reason, Message: c.exit.Message,
		StartedAt: metav1.NewTime(c.startedAt), FinishedAt: metav1.NewTime(c.exit.At),
		ContainerID: "containerd://" + c.id,
	}
}

// normalize rounds times to the precision of the API, keeps the transition times of unchanged conditions, and sorts the
// containers as the kubelet's status manager does.
func normalize(s *corev1.PodStatus, old *corev1.PodStatus, now time.Time) {
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if !kubetypes.PodConditionByKubelet(c.Type) || c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress {
			continue
		}
		c.LastTransitionTime = metav1.NewTime(now)
		if _, before := podutil.GetPodCondition(old, c.Type); before != nil && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
		c.LastTransitionTime = *c.LastTransitionTime.DeepCopy()
		c.LastTransitionTime = c.LastTransitionTime.Rfc3339Copy()
	}
	s.StartTime = old.StartTime
	if s.StartTime == nil {
		s.StartTime = ptr.To(metav1.NewTime(now).Rfc3339Copy())
	}
	for _, statuses := range [][]corev1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range statuses {
			for _, state := range []*corev1.ContainerState{&statuses[i].State, &statuses[i].LastTerminationState} {
				if r := state.Running; r != nil {
					r.StartedAt = r.StartedAt.Rfc3339Copy()
				}
				if t := state.Terminated; t != nil {
					t.StartedAt, t.FinishedAt = t.StartedAt.Rfc3339Copy(), t.FinishedAt.Rfc3339Copy()
				}
			}
		}
	}
	byName := func(a, b corev1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(s.ContainerStatuses, byName)
	slices.SortFunc(s.EphemeralContainerStatuses, byName)
	// Neither belongs to the kubelet.
	s.ResourceClaimStatuses = old.ResourceClaimStatuses
	s.ExtendedResourceClaimStatus = old.ExtendedResourceClaimStatus
}

// overwritten reports whether another client has changed the kubelet's part of the status, as the node lifecycle
// controller does for a failed node.
func (p *Pod) overwritten() bool {
	return !p.report.unwritten && !sameByKubelet(&p.api.Status, &p.report.status)
}

// sameByKubelet reports whether the kubelet's parts of two statuses are equal, as isPodStatusByKubeletEqual of the
// kubelet does.
func sameByKubelet(a, b *corev1.PodStatus) bool {
	x, y := byKubelet(a), byKubelet(b)
	return sameInProtobuf(&x, &y) || apiequality.Semantic.DeepEqual(x, y)
}

// sameInProtobuf reports whether two statuses have one encoding. Most equal statuses do, and encoding them is cheaper
// than comparing their fields by reflection.
func sameInProtobuf(a, b *corev1.PodStatus) bool {
	x, err := a.Marshal()
	if err != nil {
		return false
	}
	y, err := b.Marshal()
	return err == nil && bytes.Equal(x, y)
}

// byKubelet returns the kubelet's part of a status, without the times of its conditions, which follow from the rest.
func byKubelet(s *corev1.PodStatus) corev1.PodStatus {
	own := *s
	own.Conditions = make([]corev1.PodCondition, 0, len(s.Conditions))
	for _, c := range s.Conditions {
		if kubetypes.PodConditionByKubelet(c.Type) {
			own.Conditions = append(own.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
	}
	slices.SortFunc(own.Conditions, func(a, b corev1.PodCondition) int { return strings.Compare(string(a.Type), string(b.Type)) })
	own.ResourceClaimStatuses, own.ExtendedResourceClaimStatus, own.NodeAllocatableResourceClaimStatuses = nil, nil, nil
	return own
}
