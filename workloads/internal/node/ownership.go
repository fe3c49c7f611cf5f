package node

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/securitycontext"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// groupRead are the permissions that a kubelet adds to the files of volumes that it writes if the pod has an fsGroup: these volumes are read-only.
const groupRead = 0o440

// credential returns a file of a projected volume that proves or checks who somebody is, before the permissions of an fsGroup: only its user reads it
// if the pod says who that is.
func (p *pod) credential(data []byte, mode *int32) volumeutil.FileProjection {
	file := volumeutil.FileProjection{Data: data, Mode: ptr.Deref(mode, 0o644), FsUser: volumeutil.FsUserFrom(p.api)}
	if p.fsGroup() != nil || file.FsUser != nil {
		file.Mode = 0o600
	}
	return file
}

// share lets the fsGroup of the pod read the files of a volume.
func (p *pod) share(content payload) {
	if p.fsGroup() == nil {
		return
	}
	for name, file := range content {
		file.Mode |= groupRead
		content[name] = file
	}
}

func (p *pod) fsGroup() *int64 {
	if p.api.Spec.SecurityContext == nil {
		return nil
	}
	return p.api.Spec.SecurityContext.FSGroup
}

// ownerOf returns whom a file belongs to that the node writes into a volume.
func (p *pod) ownerOf(file volumeutil.FileProjection) files.Owner {
	return files.Owner{User: ptr.Deref(file.FsUser, 0), Group: ptr.Deref(p.fsGroup(), 0)}
}

// newVolume returns a volume that ends with the pod, and belongs to its fsGroup.
func (p *pod) newVolume() *files.Tree {
	t := p.newTree()
	if group := p.fsGroup(); group != nil {
		t.Share(*group)
	}
	return t
}

// identityOf returns who the processes of a container run as, as far as the pod says it. The user of an image is not known: it is taken for root.
func identityOf(pod *corev1.Pod, spec *corev1.Container) files.Identity {
	var identity files.Identity
	if s := securitycontext.DetermineEffectiveSecurityContext(pod, spec); s != nil {
		identity.User, identity.Group = ptr.Deref(s.RunAsUser, 0), ptr.Deref(s.RunAsGroup, 0)
	}
	if s := pod.Spec.SecurityContext; s != nil {
		identity.Groups = slices.Clone(s.SupplementalGroups)
		if s.FSGroup != nil {
			identity.Groups = append(identity.Groups, *s.FSGroup)
		}
	}
	return identity
}
