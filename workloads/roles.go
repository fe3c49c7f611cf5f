package workloads

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// createRoles creates the roles and bindings that Nodes need. It runs before the controllers start, so that
// they aggregate the roles view, edit and admin only once.
func (w *Workloads) createRoles(ctx context.Context) error {
	admin, err := kubernetes.NewForConfig(w.attachment.ConfigFor("system:workloads", "system:masters"))
	if err != nil {
		return err
	}
	if err := bindRoleOfNodes(ctx, admin); err != nil {
		return err
	}
	return createRoleOfMetrics(ctx, admin)
}

// createRoleOfMetrics creates a ClusterRole that allows reading metrics, which the roles view, edit and admin
// aggregate. Its name differs from the one in metrics-server's manifests, so that these can be installed.
func createRoleOfMetrics(ctx context.Context, admin kubernetes.Interface) error {
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "workloads:metrics-reader", Labels: map[string]string{
			"rbac.authorization.k8s.io/aggregate-to-admin": "true", "rbac.authorization.k8s.io/aggregate-to-edit": "true", "rbac.authorization.k8s.io/aggregate-to-view": "true",
		}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{v1beta1.SchemeGroupVersion.Group}, Resources: []string{"pods", "nodes"}, Verbs: []string{"get", "list", "watch"}}},
	}
	if _, err := admin.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the ClusterRole %s: %w", role.Name, err)
	}
	return nil
}

// bindRoleOfNodes binds the ClusterRole system:node to the group system:nodes, because no authorizer Node
// runs by default.
func bindRoleOfNodes(ctx context.Context, admin kubernetes.Interface) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "workloads:nodes"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:nodes"}},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the ClusterRoleBinding %s: %w", binding.Name, err)
	}
	return nil
}
