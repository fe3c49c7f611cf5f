//go:build copied

package nodereadiness

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	readinessv1alpha1 "github.com/fakecluster/fakecluster/conformance/found/modules/copied/nodereadiness-v0.5.0/api/v1alpha1"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/nodereadiness-v0.5.0/visible/controller"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/nodereadiness-v0.5.0/visible/webhook"
	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestNodeReadinessRule(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), readinessv1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	in := explored.CopiedFolder("nodereadiness-v0.5.0")
	explored.RunCopy(t, "sigs.k8s.io/node-readiness-controller", "v0.5.0", explore.Subject{
		Install: in("config/crd/bases"),
		Roles:   in("config/rbac/role.yaml", "config/rbac/role_binding.yaml", "config/rbac/service_account.yaml"),
		Seeds:   []string{"rule.yaml"},
		Trials:  300,
		Options: []fakecluster.Option{fakecluster.WithWebhookPaths(in("config/webhook/manifests.yaml")...)},
		Prepare: func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
			return func(ctx context.Context, cfg *rest.Config) error {
				return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error {
					clients, err := kubernetes.NewForConfig(cfg)
					if err != nil {
						return err
					}
					rules := controller.NewRuleReadinessController(mgr, clients, false)
					return errors.Join(
						(&controller.RuleReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme(), Controller: rules}).SetupWithManager(ctx, mgr),
						(&controller.NodeReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme(), Controller: rules}).SetupWithManager(ctx, mgr),
						webhook.NewNodeReadinessRuleWebhook(mgr.GetClient()).SetupWithManager(mgr),
					)
				}, controllerruntime.WithScheme(scheme), controllerruntime.WithWebhooks(c))
			}
		},
	})
}
