package volumes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/storage/ephemeral"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
	"k8s.io/utils/ptr"
)

// usedVolumes returns the names of the volumes that containers of the pod mount, or use as devices. A kubelet ignores
// the others.
func (p *Pod) usedVolumes() (mounts, devices sets.Set[string]) {
	mounts, devices, _ = volumeutil.GetPodVolumeNames(p.api, false)
	return mounts, devices
}

// checkClaims returns an error if a claim of the pod cannot be used, such as one that does not exist. The scheduler does
// not bind such a pod, but its nodeName may be set at creation.
func (p *Pod) checkClaims(ctx context.Context) error {
	mounts, devices := p.usedVolumes()
	var names, problems []string
	for i := range p.api.Spec.Volumes {
		v := &p.api.Spec.Volumes[i]
		if !mounts.Has(v.Name) && !devices.Has(v.Name) {
			continue
		}
		if err := p.checkClaim(ctx, v, mounts.Has(v.Name), devices.Has(v.Name)); err != nil {
			names, problems = append(names, v.Name), append(problems, err.Error())
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(names)
	return fmt.Errorf("unmounted volumes=%v, unattached volumes=[], failed to process volumes=%v: %s", names, names, strings.Join(problems, "; "))
}

// checkClaim returns an error if the claim of a volume cannot be used; nil for other volumes.
func (p *Pod) checkClaim(ctx context.Context, v *corev1.Volume, mounted, device bool) error {
	var name string
	switch {
	case v.PersistentVolumeClaim != nil:
		name = v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		name = ephemeral.VolumeClaimName(p.api, v)
	default:
		return nil
	}
	claim, err := p.node.config.Client.CoreV1().PersistentVolumeClaims(p.api.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err != nil:
		err = fmt.Errorf("failed to fetch PVC from API server: %w", err)
	case claim.DeletionTimestamp != nil && !slices.Contains(claim.Finalizers, volumeutil.PVCProtectionFinalizer):
		err = errors.New("PVC is being deleted")
	case claim.Status.Phase != corev1.ClaimBound:
		err = errors.New("PVC is not bound")
	case claim.Spec.VolumeName == "":
		err = errors.New("PVC has empty pvc.Spec.VolumeName")
	default:
		err = p.bind(ctx, v.Name, claim)
	}
	if err != nil {
		return fmt.Errorf("error processing PVC %s/%s: %w", p.api.Namespace, name, err)
	}
	if v.Ephemeral != nil {
		if err := ephemeral.VolumeIsForPod(p.api, claim); err != nil {
			return err
		}
	}
	mode := ptr.Deref(claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem) // that of the volume that it is bound to
	if mounted && mode != corev1.PersistentVolumeFilesystem {
		return fmt.Errorf("volume %s has volumeMode %s, but is specified in volumeMounts", v.Name, mode)
	}
	if device && mode != corev1.PersistentVolumeBlock {
		return fmt.Errorf("volume %s has volumeMode %s, but is specified in volumeDevices", v.Name, mode)
	}
	return nil
}

// checkDriver returns an error if the CSINode of the node does not list a CSI driver.
func (p *Pod) checkDriver(ctx context.Context, driver string) error {
	if p.registered(ctx, driver) {
		return nil
	}
	return fmt.Errorf("kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name %s not found in the list of registered CSI drivers", driver)
}

// registered reports whether the CSINode of the node lists a driver.
func (p *Pod) registered(ctx context.Context, driver string) bool {
	object, err := p.node.config.Client.StorageV1().CSINodes().Get(ctx, p.node.config.Spec.Name, metav1.GetOptions{})
	return err == nil && slices.ContainsFunc(object.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
}
