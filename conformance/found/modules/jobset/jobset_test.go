package jobset

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/webhooks"

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestJobSet(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), jobsetv1alpha2.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	in := explored.Folder(t, "sigs.k8s.io/jobset")
	explored.Run(t, "sigs.k8s.io/jobset", explore.Subject{
		Install: in("config/components/crd/bases"),
		Roles:   in("config/components/rbac/role.yaml", "config/components/rbac/role_binding.yaml", "config/components/rbac/service_account.yaml"),
		Seeds:   []string{"seed.yaml"},
		Trials:  500,
		Options: []fakecluster.Option{fakecluster.WithWebhookPaths(in("config/components/webhook/manifests.yaml")...)},
		Prepare: func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
			return func(ctx context.Context, cfg *rest.Config) error {
				return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error {
					return errors.Join(
						controllers.SetupJobSetIndexes(ctx, mgr.GetFieldIndexer()),
						controllers.SetupPodIndexes(ctx, mgr.GetFieldIndexer()),
						controllers.NewJobSetReconciler(mgr.GetClient(), mgr.GetScheme(), mgr.GetEventRecorder("jobset")).SetupWithManager(mgr),
						controllers.NewPodReconciler(mgr.GetClient(), mgr.GetScheme(), mgr.GetEventRecorder("pod")).SetupWithManager(mgr),
						webhooks.Setup(mgr),
					)
				}, controllerruntime.WithScheme(scheme), controllerruntime.WithWebhooks(c))
			}
		},
	})
}
