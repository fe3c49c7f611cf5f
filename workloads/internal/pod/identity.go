package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/securitycontext"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/image"
)

// identityOf returns the user and the groups of a container's processes: those of the pod's security context, or else of
// the image; if that is not known, root.
func identityOf(pod *corev1.Pod, spec *corev1.Container) files.Identity {
	identity := files.Identity{Owner: image.UserOf(spec.Image).Owner}
	if s := securitycontext.DetermineEffectiveSecurityContext(pod, spec); s != nil {
		if s.RunAsUser != nil {
			identity.Owner = files.Owner{User: *s.RunAsUser} // without an entry in /etc/passwd its group is that of root
		}
		identity.Group = ptr.Deref(s.RunAsGroup, identity.Group)
	}
	if s := pod.Spec.SecurityContext; s != nil {
		identity.Groups = slices.Clone(s.SupplementalGroups)
		if s.FSGroup != nil {
			identity.Groups = append(identity.Groups, *s.FSGroup)
		}
	}
	return identity
}
