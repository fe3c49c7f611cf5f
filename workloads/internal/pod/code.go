package pod

import (
	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// hasCode reports whether the volumes need contents, because a container of the pod has code, or a program has looked
// into one.
func (p *Pod) hasCode() bool {
	has := p.seenInto
	if has {
		return true
	}
	podutil.VisitContainers(&p.api.Spec, podutil.AllContainers, func(c *corev1.Container, _ podutil.ContainerType) bool {
		has = p.node.config.Programs.HasCode(p.api, c)
		return !has
	})
	return has
}
