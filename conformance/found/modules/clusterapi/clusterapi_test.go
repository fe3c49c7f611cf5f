package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/reconcilers/cluster"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	"sigs.k8s.io/cluster-api/core/setup"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/util/index"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// starts counts how often Cluster API was started: the name of its caches may be used once in a process.
var starts atomic.Int64

func TestClusterAPI(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), clusterv1beta1.AddToScheme(scheme), clusterv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	const module = "sigs.k8s.io/cluster-api"
	in := explored.Folder(t, module)
	explored.Run(t, module, explore.Subject{
		Install: append(in("core/config/crd/bases"), "infrastructure.yaml", "cluster.yaml"),
		Roles:   in("core/config/rbac/role.yaml", "core/config/rbac/role_binding.yaml", "core/config/rbac/service_account.yaml"),
		Seeds:   []string{"machinedeployment.yaml"},
		Trials:  250, // the API server rejects two of five
		Options: []fakecluster.Option{fakecluster.WithWebhookPaths(in("core/config/webhook/manifests.yaml")...)},
		// Cluster API's caches of its own requests are cleaned for ever (internal/util/ssa/cache.go).
		Without: []explore.Oracle{explore.NoLeak},
		Prepare: func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
			return func(ctx context.Context, cfg *rest.Config) error {
				options := ctrl.Options{Scheme: scheme, Cache: setup.ManagerCacheOptions(scheme, fmt.Sprintf("cluster-api-%d", starts.Add(1)), "", 10*time.Minute), Client: setup.ManagerClientOptions()}
				return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error { return operate(ctx, mgr) },
					controllerruntime.WithOptions(options), controllerruntime.WithWebhooks(c))
			}
		},
	})
}

// operate adds the controllers of Clusters and Machines and their webhooks, as the main function of Cluster API does.
func operate(ctx context.Context, mgr ctrl.Manager) error {
	if err := index.AddDefaultIndexes(ctx, mgr); err != nil {
		return err
	}
	secrets, err := setup.CreateSecretCachingClient(mgr)
	if err != nil {
		return err
	}
	ten := controller.Options{MaxConcurrentReconciles: 10}
	clusters, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient: secrets, Cache: setup.ClusterCacheCacheOptions(), Client: setup.ClusterCacheClientOptions("cluster-api", 20, 30),
	}, ten)
	if err != nil {
		return err
	}
	return errors.Join(
		(&cluster.Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), ClusterCache: clusters, RemoteConnectionGracePeriod: 50 * time.Second}).SetupWithManager(ctx, mgr, ten),
		(&machine.Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), ClusterCache: clusters, RemoteConditionsGracePeriod: 5 * time.Minute}).SetupWithManager(ctx, mgr, ten),
		(&machineset.Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), ClusterCache: clusters}).SetupWithManager(ctx, mgr, ten),
		(&machinedeployment.Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader()}).SetupWithManager(ctx, mgr, ten),
		(&admission.Cluster{Client: mgr.GetClient(), ClusterCacheReader: clusters}).SetupWebhookWithManager(mgr),
		(&admission.Machine{}).SetupWebhookWithManager(mgr),
		(&admission.MachineSet{}).SetupWebhookWithManager(mgr),
		(&admission.MachineDeployment{}).SetupWebhookWithManager(mgr),
	)
}
