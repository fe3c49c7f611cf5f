package controlplane

import (
	"context"
	"time"

	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/kubernetes/pkg/controller/ttl"
)

func nodeLifecycle(b *builder) (runFunc, error) {
	client, err := b.client("node-controller")
	if err != nil {
		return nil, err
	}
	const (
		monitorPeriod = 5 * time.Second
		startupGrace  = 60 * time.Second
		monitorGrace  = 50 * time.Second
		evictionRate  = 0.1
		secondaryRate = 0.01
		largeCluster  = 50
		unhealthyZone = 0.55
	)
	core := b.informers.Core().V1()
	pauses, err := newPauses(b.idle, monitorPeriod, core.Nodes())
	if err != nil {
		return nil, err
	}
	c, err := nodelifecycle.NewNodeLifecycleController(b.ctx, pauses.leases(b.informers.Coordination().V1().Leases()), core.Pods(), pauses.nodes(core.Nodes()), b.informers.Apps().V1().DaemonSets(), client,
		monitorPeriod, startupGrace, monitorGrace, evictionRate, secondaryRate, largeCluster, unhealthyZone)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(pauses.context(ctx)) }, nil
}

func taintEviction(b *builder) (runFunc, error) {
	client, err := b.client("node-controller")
	if err != nil {
		return nil, err
	}
	core := b.informers.Core().V1()
	c, err := tainteviction.New(b.ctx, client, core.Pods(), core.Nodes(), "taint-eviction-controller")
	if err != nil {
		return nil, err
	}
	return c.Run, nil
}

func nodeTTL(b *builder) (runFunc, error) {
	client, err := b.client("ttl-controller")
	if err != nil {
		return nil, err
	}
	c := ttl.NewTTLController(b.ctx, b.informers.Core().V1().Nodes(), client)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}
