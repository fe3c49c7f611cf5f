package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/util/format"
	"k8s.io/kubernetes/pkg/securitycontext"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/image"
)

// breaksNonRoot returns an error for a container with runAsNonRoot whose user is root, or may be as far as a kubelet can
// tell.
func breaksNonRoot(pod *corev1.Pod, spec *corev1.Container) error {
	s := securitycontext.DetermineEffectiveSecurityContext(pod, spec)
	switch {
	case s == nil || !ptr.Deref(s.RunAsNonRoot, false):
		return nil
	case s.RunAsUser != nil && *s.RunAsUser == 0:
		return fmt.Errorf("container's runAsUser breaks non-root policy (pod: %q, container: %s)", format.Pod(pod), spec.Name)
	case s.RunAsUser == nil && image.RunsAsRoot(spec.Image):
		return fmt.Errorf("container has runAsNonRoot and image will run as root (pod: %q, container: %s)", format.Pod(pod), spec.Name)
	case s.RunAsUser == nil && image.UserOf(spec.Image).Name != "":
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root (pod: %q, container: %s)",
			image.UserOf(spec.Image).Name, format.Pod(pod), spec.Name)
	}
	return nil
}
