package controlplane

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/cloud-provider/controllers/service"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"
)

// cloudControllerManager is the program that runs service-lb-controller in a real cluster.
const cloudControllerManager = "cloud-controller-manager"

// loadBalancers makes service-lb-controller with a cloud of ours. It starts with the first Service of the type
// LoadBalancer, because upstream's constructor writes two lines to the log of the process, which other tests should not
// have.
func loadBalancers(b *builder) (runFunc, error) {
	const account = "service-controller"
	client, err := newClient(asProgram(b.restConfig(account), cloudControllerManager, account))
	if err != nil {
		return nil, err
	}
	services, nodes := servicesWithoutResync{b.informers.Core().V1().Services()}, nodesWithoutEvents{b.informers.Core().V1().Nodes()}
	first := make(chan struct{})
	begin := sync.OnceFunc(func() { close(first) })
	concerns := func(obj any) {
		if s, ok := obj.(*corev1.Service); ok && (hasBalancer(s) || helpers.HasLBFinalizer(s)) {
			begin()
		}
	}
	_, err = services.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: concerns, UpdateFunc: func(_, obj any) { concerns(obj) },
	})
	if err != nil {
		return nil, err
	}
	nodes.Informer() // started with the others
	return func(ctx context.Context) {
		select {
		case <-first:
		case <-ctx.Done():
			return
		}
		c, err := service.New(newCloud(services.Lister()), client, services, nodes, "kubernetes", utilfeature.DefaultFeatureGate)
		if err != nil { // the cloud has load balancers
			klog.FromContext(ctx).Error(err, "Making the controller of load balancers")
			return
		}
		c.Run(ctx, 1, controllers.NewControllerManagerMetrics(cloudControllerManager))
	}, nil
}

// hasBalancer reports whether a Service has a load balancer of the cloud.
func hasBalancer(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil
}

// servicesWithoutResync has an informer without resyncs.
type servicesWithoutResync struct{ coreinformers.ServiceInformer }

func (s servicesWithoutResync) Informer() cache.SharedIndexInformer {
	return withoutResync{s.ServiceInformer.Informer()}
}

type withoutResync struct{ cache.SharedIndexInformer }

func (w withoutResync) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return w.AddEventHandler(h)
}

// nodesWithoutEvents has an informer that calls no handler. A load balancer of our cloud has no hosts to update, and
// upstream's worker for Nodes has a data race with the one for Services.
type nodesWithoutEvents struct{ coreinformers.NodeInformer }

func (n nodesWithoutEvents) Informer() cache.SharedIndexInformer {
	return withoutEvents{n.NodeInformer.Informer()}
}

type withoutEvents struct{ cache.SharedIndexInformer }

func (withoutEvents) AddEventHandlerWithResyncPeriod(cache.ResourceEventHandler, time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return nil, nil // the caller ignores it
}
