package node

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
)

// Usage returns what the running containers of a pod use, by the names of the containers. A container without a
// behavior uses nothing.
func (a *Agent) Usage(pod *corev1.Pod) map[string]corev1.ResourceList {
	usage := map[string]corev1.ResourceList{}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].State.Running == nil {
				continue
			}
			for _, specs := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
				for j := range specs {
					if specs[j].Name == statuses[i].Name {
						usage[specs[j].Name] = ptr.Deref(a.config.Programs.Behavior(pod, &specs[j]), cri.Behavior{}).Usage
					}
				}
			}
		}
	}
	return usage
}

// Reports reports whether a node exists here and reports what its pods use. It does not while its heartbeats are stopped.
func (a *Agent) Reports(name string) bool {
	n := a.node(name)
	return n != nil && n.beats()
}
