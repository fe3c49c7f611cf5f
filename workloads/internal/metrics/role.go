package metrics

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// reader is the name of the ClusterRole. It is not that of metrics-server's manifests, which are to create their own.
const reader = "workloads:metrics-reader"

// CreateRole creates the ClusterRole of those that read metrics, unless it exists. The roles view, edit and admin aggregate it.
func CreateRole(ctx context.Context, client kubernetes.Interface) error {
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: reader, Labels: map[string]string{
			"rbac.authorization.k8s.io/aggregate-to-admin": "true", "rbac.authorization.k8s.io/aggregate-to-edit": "true", "rbac.authorization.k8s.io/aggregate-to-view": "true",
		}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{v1beta1.SchemeGroupVersion.Group}, Resources: []string{"pods", "nodes"}, Verbs: []string{"get", "list", "watch"}}},
	}
	if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the role of those that read metrics: %w", err)
	}
	return nil
}
