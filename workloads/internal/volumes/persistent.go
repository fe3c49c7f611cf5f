package volumes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/kubelet/events"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/provisioner"
	"github.com/fakecluster/fakecluster/workloads/internal/timing"
)

const (
	// attachTimeout is the time that kube-controller-manager waits for the attacher of a CSI driver.
	attachTimeout = 2 * time.Minute
	// The delays between its attempts.
	firstAttachDelay, lastAttachDelay = 500 * time.Millisecond, 2*time.Minute + 2*time.Second
)

// mountError is the error of a kubelet's operation on a volume.
type mountError struct {
	operation, volume string
	err               error
}

func (e *mountError) Error() string {
	return fmt.Sprintf("%s failed for volume %q : %v", e.operation, e.volume, e.err)
}

// bind records the PersistentVolume of a claim that is a volume of the pod. The errors are those of a kubelet.
func (p *Pod) bind(ctx context.Context, volume string, claim *corev1.PersistentVolumeClaim) error {
	name := claim.Spec.VolumeName
	object, err := p.node.config.Client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("failed to fetch PV %s from API server: %w", name, err)
	case object.Spec.ClaimRef == nil:
		return fmt.Errorf("found PV object %s but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim", name)
	case object.Spec.ClaimRef.UID != claim.UID:
		return fmt.Errorf("found PV object %s but its pv.Spec.ClaimRef.UID %s does not point to claim.UID %s", name, object.Spec.ClaimRef.UID, claim.UID)
	}
	p.bound[volume] = object
	return nil
}

// checkPersistentVolume returns an error if the PersistentVolume of a volume cannot be mounted, and whether the volume
// waits to be attached. Other volumes have no error. Volumes of a CSI driver that the CSINode lists count as attached,
// and are empty.
func (p *Pod) checkPersistentVolume(ctx context.Context, v *corev1.Volume, now time.Time) (unattached bool, err error) {
	volume := p.bound[v.Name]
	switch {
	case volume == nil:
	case volume.Spec.CSI != nil:
		driver := volume.Spec.CSI.Driver
		if p.registered(ctx, driver) {
			delete(p.attachments, volume.UID)
			return false, nil
		}
		if object, err := p.node.config.Client.StorageV1().CSIDrivers().Get(ctx, driver, metav1.GetOptions{}); err != nil || ptr.Deref(object.Spec.AttachRequired, true) {
			p.attach(ctx, volume, now)
			return true, nil
		}
		return false, &mountError{"MountVolume.MountDevice", volume.Name,
			fmt.Errorf("kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name %s not found in the list of registered CSI drivers", driver)}
	case showsNode(volume):
		if _, err := p.node.hostPath(volume.Spec.HostPath); err != nil {
			return false, &mountError{"MountVolume.SetUp", volume.Name, err}
		}
	}
	return false, nil
}

// showsNode reports whether a PersistentVolume shows files of the node. The volumes of package provisioner do not.
func showsNode(volume *corev1.PersistentVolume) bool {
	return volume != nil && volume.Spec.HostPath != nil && !provisioner.Made(volume)
}

// attach records the Events of kube-controller-manager, which waits in vain for the attacher of a CSI driver.
func (p *Pod) attach(ctx context.Context, volume *corev1.PersistentVolume, now time.Time) {
	a := p.attachments[volume.UID]
	if a == nil {
		a = &timing.Retry{Time: now.Add(attachTimeout)}
		p.attachments[volume.UID] = a
	}
	if now.Before(a.Time) {
		return
	}
	if attacher := p.node.config.Attacher; attacher != nil {
		attacher.Pod(ctx, p.api, corev1.EventTypeWarning, events.FailedAttachVolume, "AttachVolume.Attach failed for volume %q : timed out waiting for external-attacher of %s CSI driver to attach volume %s",
			volume.Name, volume.Spec.CSI.Driver, volume.Spec.CSI.VolumeHandle)
	}
	a.Failed(now, firstAttachDelay, lastAttachDelay)
	a.Time = a.Time.Add(attachTimeout)
}

// nextAttach returns the time to check again the volumes that are not attached: soon, because their driver may come.
func (p *Pod) nextAttach(now time.Time) time.Time {
	next := now.Add(timing.RetryPeriod)
	for _, a := range p.attachments {
		next = timing.Earlier(next, a.Time, now)
	}
	return next
}

// claim returns the files of a claim: those of the node, if its volume shows them, or else files that live as long as
// the claim.
func (p *Pod) claim(ctx context.Context, volume, name string, readOnly bool) (*files.Tree, error) {
	claim, err := p.node.config.Client.CoreV1().PersistentVolumeClaims(p.api.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		err = p.bind(ctx, volume, claim)
	} else {
		err = fmt.Errorf("failed to fetch PVC from API server: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("error processing PVC %s/%s: %w", p.api.Namespace, name, err)
	}
	if showsNode(p.bound[volume]) {
		return p.node.hostPath(p.bound[volume].Spec.HostPath)
	}
	tree := p.node.config.Store.tree("claim/" + string(claim.UID))
	p.shareClaim(ctx, p.bound[volume], readOnly, tree)
	return tree, nil
}
