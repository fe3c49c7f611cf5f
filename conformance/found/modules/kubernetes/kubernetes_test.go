// Package kubernetes explores controllers of Kubernetes itself.
package kubernetes

import (
	"context"
	"testing"

	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/statefulset"

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/explore"
)

func TestJob(t *testing.T) {
	run(t, "jobs.batch", "job.yaml", "job-controller", func(ctx context.Context, f informers.SharedInformerFactory, client clientset.Interface) (func(), error) {
		c, err := job.NewController(ctx, client, f.Core().V1().Pods(), f.Batch().V1().Jobs(), nil, nil)
		if err != nil {
			return nil, err
		}
		return func() { c.Run(ctx, 5) }, nil
	})
}

func TestStatefulSet(t *testing.T) {
	run(t, "statefulsets.apps", "statefulset.yaml", "statefulset-controller", func(ctx context.Context, f informers.SharedInformerFactory, client clientset.Interface) (func(), error) {
		c := statefulset.NewStatefulSetController(ctx, f.Core().V1().Pods(), f.Apps().V1().StatefulSets(), f.Core().V1().PersistentVolumeClaims(),
			f.Apps().V1().ControllerRevisions(), client)
		return func() { c.Run(ctx, 5) }, nil
	})
}

// run explores a controller. Its user is that of kube-controller-manager, with the permissions that every cluster gives it.
func run(t *testing.T, resource, seed, account string, start func(context.Context, informers.SharedInformerFactory, clientset.Interface) (func(), error)) {
	explored.Run(t, "k8s.io/kubernetes", explore.Subject{
		Install:   []string{"accounts.yaml"},
		User:      "kube-system/" + account,
		Resources: []string{resource},
		Seeds:     []string{seed},
		Trials:    1000,
		Run: func(ctx context.Context, cfg *rest.Config) error {
			client, err := clientset.NewForConfig(cfg)
			if err != nil {
				return err
			}
			f := informers.NewSharedInformerFactory(client, 0)
			work, err := start(ctx, f, client)
			if err != nil {
				return err
			}
			f.Start(ctx.Done())
			defer f.Shutdown()
			work()
			return nil
		},
	})
}
