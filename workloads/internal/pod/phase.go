package pod

import (
	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// phase returns the phase of a pod by the statuses of its init and main containers. terminal: no container will be
// started again. started: a main container was started before.
func phase(pod *corev1.Pod, statuses []corev1.ContainerStatus, terminal, started bool) corev1.PodPhase {
	var (
		initPending, sidecarPending, initFailed           int
		unknown, running, waiting, stopped, lost, success int
	)
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		s, ok := podutil.GetContainerStatus(statuses, spec.Name)
		sidecar := podutil.IsRestartableInitContainer(spec)
		end := lastEnd(s)
		switch {
		case !ok && sidecar:
			unknown++
		case !ok:
			initPending++
		case sidecar && s.State.Running != nil:
			if s.Started == nil || !*s.Started {
				sidecarPending++
			}
			running++
		case sidecar && end == nil:
			sidecarPending++
			waiting++
		case sidecar:
			// A sidecar that has ended does not count.
		case s.State.Running != nil || end == nil:
			initPending++
		case end.ExitCode != 0 && !podutil.ContainerShouldRestart(*spec, pod.Spec, end.ExitCode):
			initFailed++
		}
	}
	for i := range pod.Spec.Containers {
		spec := &pod.Spec.Containers[i]
		s, ok := podutil.GetContainerStatus(statuses, spec.Name)
		end := lastEnd(s)
		switch {
		case !ok:
			unknown++
		case s.State.Running != nil:
			running++
		case end == nil:
			waiting++
		default:
			stopped++
			if !podutil.ContainerShouldRestart(*spec, pod.Spec, end.ExitCode) {
				lost++
			}
			if s.State.Terminated != nil && end.ExitCode == 0 {
				success++
			}
		}
	}

	switch {
	case initFailed > 0:
		return corev1.PodFailed
	case initPending > 0, sidecarPending > 0 && !started, waiting > 0:
		return corev1.PodPending
	case running > 0 && unknown == 0:
		return corev1.PodRunning
	case running > 0 || stopped == 0 || unknown > 0:
		return corev1.PodPending
	case !terminal && stopped != lost:
		return corev1.PodRunning // containers will start again
	case stopped == success:
		return corev1.PodSucceeded
	}
	return corev1.PodFailed
}

// lastEnd returns the last termination of a container that is not running; nil if it has never run.
func lastEnd(s corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if s.State.Terminated != nil {
		return s.State.Terminated
	}
	if s.State.Waiting != nil {
		return s.LastTerminationState.Terminated
	}
	return nil
}
