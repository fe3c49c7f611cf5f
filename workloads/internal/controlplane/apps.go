package controlplane

import (
	"context"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/statefulset"
)

func deployments(b *builder) (runFunc, error) {
	client, err := b.client("deployment-controller")
	if err != nil {
		return nil, err
	}
	apps := b.informers.Apps().V1()
	c, err := deployment.NewDeploymentController(b.ctx, apps.Deployments(), apps.ReplicaSets(), b.informers.Core().V1().Pods(), client)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func replicaSets(b *builder) (runFunc, error) {
	client, err := b.client("replicaset-controller")
	if err != nil {
		return nil, err
	}
	c := replicaset.NewReplicaSetController(b.ctx, b.informers.Apps().V1().ReplicaSets(), b.informers.Core().V1().Pods(), client, replicaset.BurstReplicas)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func replicationControllers(b *builder) (runFunc, error) {
	client, err := b.client("replication-controller")
	if err != nil {
		return nil, err
	}
	core := b.informers.Core().V1()
	c := replication.NewReplicationManager(b.ctx, core.Pods(), core.ReplicationControllers(), client, replication.BurstReplicas)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func statefulSets(b *builder) (runFunc, error) {
	client, err := b.client("statefulset-controller")
	if err != nil {
		return nil, err
	}
	core, apps := b.informers.Core().V1(), b.informers.Apps().V1()
	c := statefulset.NewStatefulSetController(b.ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), client)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func daemonSets(b *builder) (runFunc, error) {
	client, err := b.client("daemon-set-controller")
	if err != nil {
		return nil, err
	}
	core, apps := b.informers.Core().V1(), b.informers.Apps().V1()
	c, err := daemon.NewDaemonSetsController(b.ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), client,
		flowcontrol.NewBackOff(time.Second, 15*time.Minute))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, 2) }, nil
}
