package controlplane

import (
	"context"

	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"
)

func endpoints(b *builder) (runFunc, error) {
	client, err := b.client("endpoint-controller")
	if err != nil {
		return nil, err
	}
	core := b.informers.Core().V1()
	c := endpoint.NewEndpointController(b.ctx, core.Pods(), core.Services(), core.Endpoints(), client, 0)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func endpointSlices(b *builder) (runFunc, error) {
	client, err := b.client("endpointslice-controller")
	if err != nil {
		return nil, err
	}
	core := b.informers.Core().V1()
	const perSlice = 100
	c := endpointslice.NewController(b.ctx, core.Pods(), core.Services(), core.Nodes(), b.informers.Discovery().V1().EndpointSlices(), perSlice, client, 0)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func mirroredSlices(b *builder) (runFunc, error) {
	client, err := b.client("endpointslicemirroring-controller")
	if err != nil {
		return nil, err
	}
	core := b.informers.Core().V1()
	const perSubset = 1000
	c := endpointslicemirroring.NewController(b.ctx, core.Endpoints(), b.informers.Discovery().V1().EndpointSlices(), core.Services(), perSubset, client, 0)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func serviceCIDRs(b *builder) (runFunc, error) {
	client, err := b.client("service-cidrs-controller")
	if err != nil {
		return nil, err
	}
	networking := b.informers.Networking().V1()
	c := servicecidrs.NewController(b.ctx, networking.ServiceCIDRs(), networking.IPAddresses(), client)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}
