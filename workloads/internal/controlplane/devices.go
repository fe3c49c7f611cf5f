package controlplane

import (
	"context"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/devicetainteviction"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
)

func resourceClaims(b *builder) (runFunc, error) {
	client, err := b.client("resource-claim-controller")
	if err != nil {
		return nil, err
	}
	resource := b.informers.Resource().V1()
	c, err := resourceclaim.NewController(klog.FromContext(b.ctx), client, b.informers.Core().V1().Pods(), b.informers.Scheduling().V1beta1().PodGroups(), resource.ResourceClaims(), resource.ResourceClaimTemplates())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, 10) }, nil
}

func deviceTaints(b *builder) (runFunc, error) {
	const name = "device-taint-eviction-controller"
	client, err := b.client(name)
	if err != nil {
		return nil, err
	}
	resource := b.informers.Resource().V1()
	c := devicetainteviction.New(client, b.informers.Core().V1().Pods(), resource.ResourceClaims(), resource.ResourceSlices(), resource.DeviceTaintRules(), resource.DeviceClasses(), name)
	return func(ctx context.Context) {
		if err := c.Run(ctx, 10); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Running the controller of device taints")
		}
	}, nil
}
