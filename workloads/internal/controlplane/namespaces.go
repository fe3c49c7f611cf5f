package controlplane

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

// namespaces deletes the content of namespaces five seconds after they were deleted.
func namespaces(b *builder) (runFunc, error) {
	config := b.restConfig("namespace-controller")
	client, err := newClient(config)
	if err != nil {
		return nil, err
	}
	transport, err := httpClient(config)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfigAndClient(config, transport)
	if err != nil {
		return nil, err
	}
	// The first call only fills a cache of resources without deletecollection, and upstream's constructor exits the
	// process if it fails, as it may with a fault. So it sends no request.
	first := true
	discover := func() ([]*metav1.APIResourceList, error) {
		if first {
			first = false
			return []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Verbs: metav1.Verbs{"list", "deletecollection"}}}}}, nil
		}
		return client.Discovery().ServerPreferredNamespacedResources()
	}
	// A resync, which kube-controller-manager has every five minutes, would change nothing: failures are retried within
	// a minute.
	c := namespace.NewNamespaceController(b.ctx, client, objects, discover, b.informers.Core().V1().Namespaces(), 0, corev1.FinalizerKubernetes)
	return func(ctx context.Context) { c.Run(ctx, 10) }, nil
}
