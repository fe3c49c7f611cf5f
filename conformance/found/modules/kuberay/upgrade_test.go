//go:build copied

package kuberay

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	_ "github.com/fakecluster/fakecluster/conformance/found/modules/collectors"
	configv1alpha1 "github.com/fakecluster/fakecluster/conformance/found/modules/copied/kuberay-v1.4.0/apis/config/v1alpha1"
	rayv1 "github.com/fakecluster/fakecluster/conformance/found/modules/copied/kuberay-v1.4.0/apis/ray/v1"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/kuberay-v1.4.0/controllers/ray"
	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
)

func TestRayClusterUpgrade(t *testing.T) {
	explored.Upgrade(t, module, "v1.4.0", previous(t), subject(t))
}

// previous is the version before.
func previous(t *testing.T) explore.Subject {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), rayv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	const config = "../copied/kuberay-v1.4.0/config/"
	return explore.Subject{
		Install: []string{config + "crd/bases"},
		Roles:   []string{config + "rbac/role.yaml", "roles.yaml"},
		Seeds:   []string{"raycluster.yaml"},
		Run: func(ctx context.Context, cfg *rest.Config) error {
			return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error {
				return ray.NewReconciler(ctx, mgr, ray.RayClusterReconcilerOptions{}, configv1alpha1.Configuration{}).SetupWithManager(mgr, 1)
			}, controllerruntime.WithScheme(scheme))
		},
	}
}
