package builtin

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	rbacapi "k8s.io/kubernetes/pkg/apis/rbac"
	clusterrolepolicy "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/policybased"
	clusterrolebindingpolicy "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/policybased"
	rolepolicy "k8s.io/kubernetes/pkg/registry/rbac/role/policybased"
	rolebindingpolicy "k8s.io/kubernetes/pkg/registry/rbac/rolebinding/policybased"
)

// This file has the checks that users grant only rights that they have (privilege escalation). Upstream has them in
// storages that wrap those of roles and bindings; here they wrap a storage that stores nothing.

// checkingStorage is the part of upstream's wrapping storage that checks.
type checkingStorage interface {
	registryrest.Creater
	registryrest.Updater
}

var (
	mayGrantRole           = mayGrant(rolepolicy.NewStorage(unstored{}, contextAuthorizer{}, ruleResolver{}))
	mayGrantClusterRole    = mayGrant(clusterrolepolicy.NewStorage(unstored{}, contextAuthorizer{}, ruleResolver{}))
	mayBindRole            = mayGrant(rolebindingpolicy.NewStorage(unstored{}, contextAuthorizer{}, ruleResolver{}))
	mayBindRoleClusterWide = mayGrant(clusterrolebindingpolicy.NewStorage(unstored{}, contextAuthorizer{}, ruleResolver{}))
)

// mayGrant returns the check of a storage as a resource.Version.MayWrite.
func mayGrant(s checkingStorage) func(ctx context.Context, obj, current runtime.Object) error {
	return func(ctx context.Context, obj, current runtime.Object) error {
		if err := isBounded(obj); err != nil {
			return err
		}
		if current == nil {
			_, err := s.Create(ctx, obj, nil, &metav1.CreateOptions{})
			return err
		}
		_, _, err := s.Update(context.WithValue(ctx, currentKey{}, current), "", registryrest.DefaultUpdatedObjectInfo(obj), nil, nil, false, &metav1.UpdateOptions{})
		return err
	}
}

// maxRights limits the single rights that the rules of a role grant. Upstream's check creates a rule for each
// combination of group, resource, verb and name, so that without a limit a role of a few kilobytes could use up the
// memory.
const maxRights = 200_000

// isBounded rejects a role that grants too many rights.
func isBounded(obj runtime.Object) error {
	var rules []rbacapi.PolicyRule
	switch role := obj.(type) {
	case *rbacapi.Role:
		rules = role.Rules
	case *rbacapi.ClusterRole:
		rules = role.Rules
	}
	rights := 0.0 // the product of four lengths may overflow an int
	for _, r := range rules {
		combinations := float64(len(r.APIGroups))*float64(len(r.Resources))*float64(max(len(r.ResourceNames), 1)) + float64(len(r.NonResourceURLs))
		rights += combinations * float64(len(r.Verbs))
	}
	if rights > maxRights {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"the rules grant %.0f combinations of group, resource, verb and name, but fakecluster allows %d; use \"*\"", rights, maxRights))
	}
	return nil
}

// currentKey is the key of the current object in the context of an update of unstored.
type currentKey struct{}

// unstored is a storage that stores nothing. Upstream's checks call no other methods of it.
type unstored struct {
	registryrest.StandardStorage
}

// Create implements registryrest.Creater.
func (unstored) Create(_ context.Context, obj runtime.Object, _ registryrest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	return obj, nil
}

// Update implements registryrest.Updater.
func (unstored) Update(ctx context.Context, _ string, info registryrest.UpdatedObjectInfo, _ registryrest.ValidateObjectFunc,
	_ registryrest.ValidateObjectUpdateFunc, _ bool, _ *metav1.UpdateOptions) (runtime.Object, bool, error) {
	current, _ := ctx.Value(currentKey{}).(runtime.Object)
	obj, err := info.UpdatedObject(ctx, current)
	return obj, false, err
}
