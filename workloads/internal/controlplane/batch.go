package controlplane

import (
	"context"

	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
)

func jobs(b *builder) (runFunc, error) {
	client, err := b.client("job-controller")
	if err != nil {
		return nil, err
	}
	// Workloads and PodGroups are needed only with the feature gate WorkloadWithJob, which is off.
	c, err := job.NewController(b.ctx, client, b.informers.Core().V1().Pods(), b.informers.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func cronJobs(b *builder) (runFunc, error) {
	client, err := b.client("cronjob-controller")
	if err != nil {
		return nil, err
	}
	batch := b.informers.Batch().V1()
	c, err := cronjob.NewControllerV2(b.ctx, batch.Jobs(), batch.CronJobs(), client)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func finishedJobs(b *builder) (runFunc, error) {
	client, err := b.client("ttl-after-finished-controller")
	if err != nil {
		return nil, err
	}
	c := ttlafterfinished.New(b.ctx, b.informers.Batch().V1().Jobs(), client)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}
