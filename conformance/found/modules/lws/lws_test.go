package lws

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	disaggregatedsetv1 "sigs.k8s.io/lws/api/disaggregatedset/v1"
	leaderworkersetv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/controllers"
	"sigs.k8s.io/lws/pkg/controllers/disaggregatedset"
	"sigs.k8s.io/lws/pkg/webhooks"
	disaggregatedsetwebhooks "sigs.k8s.io/lws/pkg/webhooks/disaggregatedset"

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

func TestLeaderWorkerSet(t *testing.T) {
	s := subject(t)
	s.Seeds = []string{"leaderworkerset.yaml"}
	explored.Run(t, "sigs.k8s.io/lws", s)
}

func TestDisaggregatedSet(t *testing.T) {
	s := subject(t)
	s.Seeds = []string{"disaggregatedset.yaml"}
	explored.Run(t, "sigs.k8s.io/lws", s)
}

func subject(t *testing.T) explore.Subject {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), leaderworkersetv1.AddToScheme(scheme), disaggregatedsetv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	in := explored.Folder(t, "sigs.k8s.io/lws")
	return explore.Subject{
		Install: in("config/crd/bases"),
		Roles:   in("config/rbac/role.yaml", "config/rbac/role_binding.yaml", "config/rbac/service_account.yaml"),
		// A group is ready when its Pods are, so that there have to be Pods.
		Workloads: func(t testing.TB, c *fakecluster.Cluster) { workloads.Run(t, c, workloads.Nodes(1)) },
		Options:   []fakecluster.Option{fakecluster.WithWebhookPaths(in("config/webhook/manifests.yaml")...)},
		Prepare: func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
			return func(ctx context.Context, cfg *rest.Config) error {
				return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error {
					return errors.Join(
						controllers.SetupIndexes(mgr.GetFieldIndexer()),
						controllers.NewLeaderWorkerSetReconciler(mgr.GetClient(), mgr.GetScheme(), mgr.GetEventRecorder("leaderworkerset")).SetupWithManager(mgr),
						controllers.NewPodReconciler(mgr.GetClient(), mgr.GetScheme(), mgr.GetEventRecorder("leaderworkerset"), nil).SetupWithManager(mgr),
						(&disaggregatedset.DisaggregatedSetReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme(), Record: mgr.GetEventRecorder("disaggregatedset")}).SetupWithManager(mgr),
						webhooks.SetupLeaderWorkerSetWebhook(mgr),
						webhooks.NewPodWebhook(nil).Setup(mgr),
						disaggregatedsetwebhooks.SetupDisaggregatedSetWebhook(mgr),
					)
				}, controllerruntime.WithScheme(scheme), controllerruntime.WithWebhooks(c))
			}
		},
	}
}
