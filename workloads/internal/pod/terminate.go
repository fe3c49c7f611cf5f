package pod

import (
	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
)

// terminate completes the last status of the pod, as TerminatePod of the kubelet's status manager does: containers that
// should have run but have not get the status of lost ones, and the phase becomes terminal.
func (p *Pod) terminate(s *corev1.PodStatus) {
	lost := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: kubecontainer.ContainerReasonStatusUnknown, Message: "The container could not be located when the pod was terminated", ExitCode: 137,
	}}
	fill := func(statuses []corev1.ContainerStatus) {
		for i := range statuses {
			if statuses[i].State.Terminated == nil {
				statuses[i].State = lost
			}
		}
	}
	if p.initialized(s) {
		fill(s.ContainerStatuses)
	}
	// Init containers up to the last one that was started, or the first one.
	last := 0
	for i := range s.InitContainerStatuses {
		if c := &s.InitContainerStatuses[i]; c.State.Waiting == nil || c.LastTerminationState.Terminated != nil {
			last = i
		}
	}
	fill(s.InitContainerStatuses[:min(last+1, len(s.InitContainerStatuses))])
	if !podutil.IsPodPhaseTerminal(s.Phase) {
		s.Phase = corev1.PodFailed
	}
}

// initialized reports whether main containers of the pod were or could have been started. The kubelet looks at the init
// containers in the API server's status at the last sync of the pod: it ignores a startup probe that has succeeded
// since.
func (p *Pod) initialized(s *corev1.PodStatus) bool {
	inits := p.api.Spec.InitContainers
	if len(inits) == 0 {
		return true
	}
	for i := range s.ContainerStatuses {
		if c := &s.ContainerStatuses[i]; c.LastTerminationState.Terminated != nil || c.State.Waiting == nil {
			return true
		}
	}
	seen := p.termination.ending.seen.Status.InitContainerStatuses
	if len(seen) < len(inits) {
		return false
	}
	c := &seen[len(inits)-1]
	if podutil.IsRestartableInitContainer(&inits[len(inits)-1]) {
		return c.State.Running != nil && c.Started != nil && *c.Started
	}
	return c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
}
