package metrics

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// The service that the APIService points to, as in the manifests of metrics-server.
const (
	Namespace = metav1.NamespaceSystem
	Service   = "metrics-server"
	Port      = 443
)

// APIService is the name of the APIService.
const APIService = "v1beta1.metrics.k8s.io"

const (
	reader = "system:aggregated-metrics-reader"

	// managedBy marks an APIService that Install has created, also in a fork or a snapshot.
	managedBy, us = "app.kubernetes.io/managed-by", "fakecluster-workloads"
)

// APIServices is the resource of APIServices.
var APIServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// Wanted reports whether the version is not served by another server: its APIService does not exist, or it points to the
// service of this package.
func Wanted(ctx context.Context, client dynamic.Interface) (bool, error) {
	found, err := client.Resource(APIServices).Get(ctx, APIService, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the APIService of metrics: %w", err)
	}
	namespace, _, _ := unstructured.NestedString(found.Object, "spec", "service", "namespace")
	name, _, _ := unstructured.NestedString(found.Object, "spec", "service", "name")
	return namespace == Namespace && name == Service, nil
}

// CreateRole creates the ClusterRole of those that read metrics, unless it exists. The roles view, edit and admin aggregate it.
func CreateRole(ctx context.Context, client kubernetes.Interface) error {
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: reader, Labels: map[string]string{
			"k8s-app": Service,
			"rbac.authorization.k8s.io/aggregate-to-admin": "true", "rbac.authorization.k8s.io/aggregate-to-edit": "true", "rbac.authorization.k8s.io/aggregate-to-view": "true",
		}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{v1beta1.SchemeGroupVersion.Group}, Resources: []string{"pods", "nodes"}, Verbs: []string{"get", "list", "watch"}}},
	}
	if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the role of those that read metrics: %w", err)
	}
	return nil
}

// Install creates the APIService, unless it exists. The handler has to be reachable at the port of the service.
func Install(ctx context.Context, client dynamic.Interface, port int64) error {
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": APIServices.GroupVersion().String(), "kind": "APIService",
		"metadata": map[string]any{"name": APIService, "labels": map[string]any{"k8s-app": Service, managedBy: us}},
		"spec": map[string]any{
			"group": v1beta1.SchemeGroupVersion.Group, "version": v1beta1.SchemeGroupVersion.Version, "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			// The service has the certificate of the cluster that it runs in, which a fork does not need to share.
			"insecureSkipTLSVerify": true,
			"service":               map[string]any{"namespace": Namespace, "name": Service, "port": port},
		},
	}}
	if _, err := client.Resource(APIServices).Create(ctx, service, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("installing the API of metrics: %w", err)
	}
	return nil
}

// Remove deletes the APIService if Install has created it, so that discovery goes on without it.
func Remove(ctx context.Context, objects dynamic.Interface) error {
	found, err := objects.Resource(APIServices).Get(ctx, APIService, metav1.GetOptions{})
	if err == nil && found.GetLabels()[managedBy] == us {
		err = objects.Resource(APIServices).Delete(ctx, APIService, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing the API of metrics: %w", err)
	}
	return nil
}
