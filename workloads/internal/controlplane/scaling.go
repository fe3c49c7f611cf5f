package controlplane

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/scale"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"
)

// autoscalerSync is the interval at which the autoscaler checks each HorizontalPodAutoscaler.
const autoscalerSync = 15 * time.Second

func autoscaler(b *builder) (runFunc, error) {
	const account = "horizontal-pod-autoscaler"
	client, err := b.client(account)
	if err != nil {
		return nil, err
	}
	config := b.restConfig(account)
	scales, err := scale.NewForConfig(config, b.mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(client.Discovery()))
	if err != nil {
		return nil, fmt.Errorf("making a client of scales: %w", err)
	}
	available := custom_metrics.NewAvailableAPIsGetter(client.Discovery())
	resources, err := v1beta1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of metrics: %w", err)
	}
	external, err := external_metrics.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of external metrics: %w", err)
	}
	const (
		stabilization     = 5 * time.Minute
		tolerance         = 0.1
		cpuInitialization = 5 * time.Minute
		readinessDelay    = 30 * time.Second
	)
	c := podautoscaler.NewHorizontalController(b.ctx, client.CoreV1(), scales, client.AutoscalingV2(), b.mapper,
		metrics.NewRESTMetricsClient(resources, custom_metrics.NewForConfig(config, b.mapper, available), external),
		b.informers.Autoscaling().V2().HorizontalPodAutoscalers(), b.informers.Core().V1().Pods(),
		autoscalerSync, stabilization, tolerance, cpuInitialization, readinessDelay)
	return together(
		func(ctx context.Context) {
			custom_metrics.PeriodicallyInvalidate(available, autoscalerSync, ctx.Done())
		},
		func(ctx context.Context) { c.Run(ctx, 5) },
	), nil
}

func disruptions(b *builder) (runFunc, error) {
	const account = "disruption-controller"
	client, err := b.client(account)
	if err != nil {
		return nil, err
	}
	scales, err := scale.NewForConfig(b.restConfig(account), b.mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(client.Discovery()))
	if err != nil {
		return nil, fmt.Errorf("making a client of scales: %w", err)
	}
	core, apps := b.informers.Core().V1(), b.informers.Apps().V1()
	c := disruption.NewDisruptionController(b.ctx, core.Pods(), b.informers.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
		apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), client, b.mapper, scales, client.Discovery())
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}
