package node

import (
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
	"k8s.io/utils/ptr"
)

// groupRead are the permissions that a kubelet adds to the files of volumes that it writes if the pod has an fsGroup: these volumes are read-only.
const groupRead = 0o440

// tokenMode returns the permissions of a file with a token, before those of an fsGroup: only its user reads it if the pod says who that is.
func (p *pod) tokenMode(mode *int32) int32 {
	if p.fsGroup() != nil || volumeutil.FsUserFrom(p.api) != nil {
		return 0o600
	}
	return ptr.Deref(mode, 0o644)
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
