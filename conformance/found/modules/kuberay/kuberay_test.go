package kuberay

import (
	"context"
	"errors"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
)

const module = "github.com/ray-project/kuberay/ray-operator"

func TestRayCluster(t *testing.T) {
	s := current(t)
	s.Trials = 300
	explored.Run(t, module, s)
}

// current is the version of go.mod.
func current(t *testing.T) explore.Subject {
	return subject(t, explored.Folder(t, module), rayv1.AddToScheme, func(ctx context.Context, mgr ctrl.Manager) error {
		return ray.NewReconciler(ctx, mgr, ray.RayClusterReconcilerOptions{}).SetupWithManager(mgr, 1)
	})
}

// subject is a version whose files are in a folder.
func subject(t *testing.T, in func(paths ...string) []string, types func(*runtime.Scheme) error, setup func(context.Context, ctrl.Manager) error) explore.Subject {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), types(scheme)); err != nil {
		t.Fatal(err)
	}
	return explore.Subject{
		Install: in("config/crd/bases"),
		Roles:   append(in("config/rbac/role.yaml"), "roles.yaml"),
		Seeds:   []string{"raycluster.yaml"},
		Run: func(ctx context.Context, cfg *rest.Config) error {
			return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error { return setup(ctx, mgr) }, controllerruntime.WithScheme(scheme))
		},
	}
}
