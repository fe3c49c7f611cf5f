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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// server is the name of the APIService's service, as in the manifests of metrics-server.
const server = "metrics-server"

// apiService is the name of the APIService.
const apiService = "v1beta1.metrics.k8s.io"

// managedBy marks an APIService that an agent has created.
const managedBy, us = "app.kubernetes.io/managed-by", "fakecluster-workloads"

// apiServices is the resource of APIServices.
var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// announceMetrics creates the APIService of metrics.k8s.io, replacing that of a former agent, and returns when the API
// server reaches this agent. The APIService's service is a name for this machine.
func announceMetrics(ctx context.Context, admin *rest.Config, address *net.TCPAddr) error {
	client, objects, err := clients(admin)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Services(metav1.NamespaceSystem).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: server},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the service of the metrics server: %w", err)
	}
	if err := removeAPIService(ctx, objects); err != nil {
		return err
	}
	if err := createAPIService(ctx, objects, int64(address.Port)); err != nil {
		return err
	}
	watched, err := objects.Resource(apiServices).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + apiService, TimeoutSeconds: new(int64(60))})
	if err != nil {
		return fmt.Errorf("watching the APIService %s: %w", apiService, err)
	}
	defer watched.Stop()
	for e := range watched.ResultChan() {
		if service, ok := e.Object.(*unstructured.Unstructured); ok && isAvailable(service) {
			return nil
		}
	}
	return errors.New("the API server has not reached the metrics server within a minute")
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
	client, err := kubernetes.NewForConfig(withUserAgent(admin, "metrics-server"))
	if err != nil {
		return nil, nil, err
	}
	objects, err := dynamic.NewForConfig(withUserAgent(admin, "metrics-server"))
	return client, objects, err
}

// createAPIService creates the APIService, unless it exists. The handler must be reachable at the port of the service.
func createAPIService(ctx context.Context, client dynamic.Interface, port int64) error {
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiServices.GroupVersion().String(), "kind": "APIService",
		"metadata": map[string]any{"name": apiService, "labels": map[string]any{"k8s-app": server, managedBy: us}},
		"spec": map[string]any{
			"group": v1beta1.SchemeGroupVersion.Group, "version": v1beta1.SchemeGroupVersion.Version, "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			// The service has a certificate of its own cluster, which a fork may not trust.
			"insecureSkipTLSVerify": true,
			"service":               map[string]any{"namespace": metav1.NamespaceSystem, "name": server, "port": port},
		},
	}}
	if _, err := client.Resource(apiServices).Create(ctx, service, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("installing the API of metrics: %w", err)
	}
	return nil
}

// removeAPIService deletes the APIService if createAPIService has created it.
func removeAPIService(ctx context.Context, objects dynamic.Interface) error {
	found, err := objects.Resource(apiServices).Get(ctx, apiService, metav1.GetOptions{})
	if err == nil && found.GetLabels()[managedBy] == us {
		err = objects.Resource(apiServices).Delete(ctx, apiService, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing the API of metrics: %w", err)
	}
	return nil
}
