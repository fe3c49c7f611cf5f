//go:build copied

package kuberay

import (
	"context"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"

	_ "github.com/fakecluster/fakecluster/conformance/found/modules/collectors"
	configv1alpha1 "github.com/fakecluster/fakecluster/conformance/found/modules/copied/kuberay-v1.4.0/apis/config/v1alpha1"
	rayv1 "github.com/fakecluster/fakecluster/conformance/found/modules/copied/kuberay-v1.4.0/apis/ray/v1"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/kuberay-v1.4.0/controllers/ray"
	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/explore"
)

func TestRayClusterUpgrade(t *testing.T) {
	explored.Upgrade(t, module, "v1.4.0", previous(t), current(t))
}

// previous is the version before.
func previous(t *testing.T) explore.Subject {
	return subject(t, explored.CopiedFolder("kuberay-v1.4.0"), rayv1.AddToScheme, func(ctx context.Context, mgr ctrl.Manager) error {
		return ray.NewReconciler(ctx, mgr, ray.RayClusterReconcilerOptions{}, configv1alpha1.Configuration{}).SetupWithManager(mgr, 1)
	})
}
