package pod

import (
	"fmt"
	"io/fs"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/security/apparmor"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/volumes"
)

// seccompRoot is the folder of a node in which a kubelet looks for profiles of the type Localhost.
const seccompRoot = "/var/lib/kubelet/seccomp"

// checkProfiles returns containerd's error for a container whose AppArmor or seccomp profile of the type Localhost the
// node does not have. No AppArmor profiles are loaded on a node. seccomp profiles are files, which Pods can write.
func (p *Pod) checkProfiles(spec *corev1.Container) error {
	if profile := apparmor.GetProfile(p.api, spec); profile != nil && profile.Type == corev1.AppArmorProfileTypeLocalhost {
		return fmt.Errorf("failed to get container spec opts: failed to generate apparmor spec opts: apparmor profile not found %s", ptr.Deref(profile.LocalhostProfile, ""))
	}
	var profile *corev1.SeccompProfile
	if s := p.api.Spec.SecurityContext; s != nil {
		profile = s.SeccompProfile
	}
	if s := spec.SecurityContext; s != nil {
		if ptr.Deref(s.Privileged, false) {
			return nil
		}
		if s.SeccompProfile != nil {
			profile = s.SeccompProfile
		}
	}
	if profile == nil || profile.Type != corev1.SeccompProfileTypeLocalhost {
		return nil
	}
	name := path.Join(seccompRoot, ptr.Deref(profile.LocalhostProfile, ""))
	if _, err := fs.Stat(p.node.config.Volumes.Files(), volumes.InTree(name)); err != nil {
		return fmt.Errorf("failed to create containerd container: cannot load seccomp profile %q: open %s: no such file or directory", name, name)
	}
	return nil
}
