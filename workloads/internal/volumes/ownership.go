package volumes

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/provisioner"
)

// groupRead are the permissions that a kubelet adds to the files that it writes into volumes if the pod has an fsGroup.
// These volumes are read-only.
const groupRead = 0o440

// credential returns a credential file of a projected volume, such as a token, before the permissions of an fsGroup. If
// the pod has a user, only that user can read it.
func (p *Pod) credential(data []byte, mode *int32) volumeutil.FileProjection {
	file := volumeutil.FileProjection{Data: data, Mode: ptr.Deref(mode, 0o644), FsUser: volumeutil.FsUserFrom(p.api)}
	if p.fsGroup() != nil || file.FsUser != nil {
		file.Mode = 0o600
	}
	return file
}

// share lets the fsGroup of the pod read the files of a volume.
func (p *Pod) share(content payload) {
	if p.fsGroup() == nil {
		return
	}
	for name, file := range content {
		file.Mode |= groupRead
		content[name] = file
	}
}

func (p *Pod) fsGroup() *int64 {
	if p.api.Spec.SecurityContext == nil {
		return nil
	}
	return p.api.Spec.SecurityContext.FSGroup
}

// ownerOf returns the owner of a file that the node writes into a volume.
func (p *Pod) ownerOf(file volumeutil.FileProjection) files.Owner {
	return files.Owner{User: ptr.Deref(file.FsUser, 0), Group: ptr.Deref(p.fsGroup(), 0)}
}

// newVolume returns a volume that ends with the pod, and belongs to its fsGroup.
func (p *Pod) newVolume() *files.Tree {
	t := p.newTree()
	if group := p.fsGroup(); group != nil {
		t.Share(*group)
	}
	return t
}

// shareClaim lets the fsGroup of the pod write a volume that outlives pods, if a kubelet manages the owners of that type
// of volume.
func (p *Pod) shareClaim(ctx context.Context, volume *corev1.PersistentVolume, readOnly bool, tree *files.Tree) {
	group := p.fsGroup()
	if group == nil || volume == nil || !p.managesOwners(ctx, volume, readOnly) {
		return
	}
	policy := ptr.Deref(p.api.Spec.SecurityContext.FSGroupChangePolicy, corev1.FSGroupChangeAlways)
	tree.ShareFiles(*group, readOnly, policy == corev1.FSGroupChangeOnRootMismatch)
}

// managesOwners reports whether a kubelet gives the files of a volume to an fsGroup: not those of hostPath, which kind's
// own volumes are as well, and NFS. For a CSI driver its fsGroupPolicy decides; by default only a file system that one
// node writes.
func (p *Pod) managesOwners(ctx context.Context, volume *corev1.PersistentVolume, readOnly bool) bool {
	one := slices.Contains(volume.Spec.AccessModes, corev1.ReadWriteOnce)
	switch {
	case provisioner.MadeForOthers(volume):
		return one && !readOnly
	case volume.Spec.HostPath != nil, volume.Spec.NFS != nil:
		return false
	case volume.Spec.CSI == nil:
		return true
	case readOnly:
		return false
	}
	policy := storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
	if driver, err := p.node.config.Client.StorageV1().CSIDrivers().Get(ctx, volume.Spec.CSI.Driver, metav1.GetOptions{}); err == nil {
		policy = ptr.Deref(driver.Spec.FSGroupPolicy, policy)
	}
	switch policy {
	case storagev1.NoneFSGroupPolicy:
		return false
	case storagev1.FileFSGroupPolicy:
		return true
	}
	return one && volume.Spec.CSI.FSType != ""
}
