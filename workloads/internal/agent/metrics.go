package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/workloads/internal/metrics"
)

// announceMetrics creates the APIService of metrics.k8s.io in the place of that of an agent before, and returns when the API server
// reaches this one. The service that it points to is a name for this machine.
func announceMetrics(ctx context.Context, admin *rest.Config, at *net.TCPAddr) error {
	client, objects, err := clients(admin)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Services(metrics.Namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: metrics.Service},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the service of metrics: %w", err)
	}
	if err := metrics.Remove(ctx, objects); err != nil {
		return err
	}
	if err := metrics.Install(ctx, objects, int64(at.Port)); err != nil {
		return err
	}
	watched, err := objects.Resource(metrics.APIServices).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + metrics.APIService, TimeoutSeconds: new(int64(60))})
	if err != nil {
		return fmt.Errorf("watching the APIService of metrics: %w", err)
	}
	defer watched.Stop()
	for e := range watched.ResultChan() {
		if service, ok := e.Object.(*unstructured.Unstructured); ok && isAvailable(service) {
			return nil
		}
	}
	return errors.New("the API server does not reach the server of metrics within a minute")
}

// isAvailable reports whether an APIService is available.
func isAvailable(service *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Available" {
			return c["status"] == "True"
		}
	}
	return false
}

func clients(admin *rest.Config) (kubernetes.Interface, dynamic.Interface, error) {
	client, err := kubernetes.NewForConfig(as(admin, "metrics-server"))
	if err != nil {
		return nil, nil, err
	}
	objects, err := dynamic.NewForConfig(as(admin, "metrics-server"))
	return client, objects, err
}
