package controlplane

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	"k8s.io/kubernetes/pkg/controller/volume/expand"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/controller/volume/vacprotection"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/csimigration"

	"github.com/fakecluster/fakecluster/workloads/internal/provisioner"
)

func volumeBinder(b *builder) (runFunc, error) {
	client, err := b.client("persistent-volume-binder")
	if err != nil {
		return nil, err
	}
	core := b.informers.Core().V1()
	c, err := persistentvolume.NewController(b.ctx, persistentvolume.ControllerParameters{
		KubeClient: client, SyncPeriod: 15 * time.Second, EnableDynamicProvisioning: true,
		VolumeInformer: core.PersistentVolumes(), ClaimInformer: core.PersistentVolumeClaims(), ClassInformer: b.informers.Storage().V1().StorageClasses(),
		PodInformer: core.Pods(), NodeInformer: core.Nodes(),
	})
	if err != nil {
		return nil, err
	}
	return c.Run, nil
}

func volumeExpander(b *builder) (runFunc, error) {
	client, err := b.client("expand-controller")
	if err != nil {
		return nil, err
	}
	translator := csitrans.New()
	c, err := expand.NewExpandController(b.ctx, client, b.informers.Core().V1().PersistentVolumeClaims(),
		[]volume.VolumePlugin{expandable{}}, translator, csimigration.NewPluginManager(translator))
	if err != nil {
		return nil, err
	}
	return c.Run, nil
}

// expandable is the plugin that expands the volumes of package provisioner. Its other methods are for kubelets.
type expandable struct{ volume.VolumePlugin }

var _ volume.ExpandableVolumePlugin = expandable{}

func (expandable) Init(volume.VolumeHost) error { return nil }

func (expandable) GetPluginName() string { return provisioner.Name }

func (expandable) CanSupport(spec *volume.Spec) bool {
	return spec.PersistentVolume != nil && provisioner.Made(spec.PersistentVolume)
}

func (expandable) ExpandVolumeDevice(_ *volume.Spec, newSize, _ resource.Quantity) (resource.Quantity, error) {
	return newSize, nil
}

func (expandable) RequiresFSResize() bool { return false }

func ephemeralVolumes(b *builder) (runFunc, error) {
	client, err := b.client("ephemeral-volume-controller")
	if err != nil {
		return nil, err
	}
	core := b.informers.Core().V1()
	c, err := ephemeral.NewController(b.ctx, client, core.Pods(), core.PersistentVolumeClaims())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func claimProtection(b *builder) (runFunc, error) {
	client, err := b.client("pvc-protection-controller")
	if err != nil {
		return nil, err
	}
	core := b.informers.Core().V1()
	c, err := pvcprotection.NewPVCProtectionController(klog.FromContext(b.ctx), core.PersistentVolumeClaims(), core.Pods(), client)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, 1) }, nil
}

func volumeProtection(b *builder) (runFunc, error) {
	client, err := b.client("pv-protection-controller")
	if err != nil {
		return nil, err
	}
	c, err := pvprotection.NewPVProtectionController(klog.FromContext(b.ctx), b.informers.Core().V1().PersistentVolumes(), client)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, 1) }, nil
}

func attributesClassProtection(b *builder) (runFunc, error) {
	client, err := b.client("volumeattributesclass-protection-controller")
	if err != nil {
		return nil, err
	}
	core := b.informers.Core().V1()
	c, err := vacprotection.NewVACProtectionController(klog.FromContext(b.ctx), client, core.PersistentVolumeClaims(), core.PersistentVolumes(), b.informers.Storage().V1().VolumeAttributesClasses())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, 1) }, nil
}
