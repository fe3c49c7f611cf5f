package kro

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	internalv1alpha1 "github.com/kubernetes-sigs/kro/api/internal.kro.run/v1alpha1"
	xv1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	kroclient "github.com/kubernetes-sigs/kro/pkg/client"
	"github.com/kubernetes-sigs/kro/pkg/controller/graphrevision"
	"github.com/kubernetes-sigs/kro/pkg/controller/resourcegraphdefinition"
	"github.com/kubernetes-sigs/kro/pkg/dynamiccontroller"
	"github.com/kubernetes-sigs/kro/pkg/graph"
	"github.com/kubernetes-sigs/kro/pkg/graph/revisions"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
)

func TestKro(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), xv1alpha1.AddToScheme(scheme), internalv1alpha1.AddToScheme(scheme), extv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	in := explored.Folder(t, "github.com/kubernetes-sigs/kro")
	explored.Run(t, "github.com/kubernetes-sigs/kro", explore.Subject{
		Install: in("helm/crds"),
		Seeds:   []string{"resourcegraphdefinition.yaml"},
		// The schemas that graph.NewBuilder caches have a goroutine for as long as the process runs.
		Without: []explore.Oracle{explore.NoLeak},
		Run: func(ctx context.Context, cfg *rest.Config) error {
			// As kro's main does, with the defaults of its flags.
			set, err := kroclient.NewSet(kroclient.Config{RestConfig: rest.CopyConfig(cfg)})
			if err != nil {
				return err
			}
			builder, err := graph.NewBuilder(set.RESTConfig(), set.HTTPClient())
			if err != nil {
				return err
			}
			dynamic := dynamiccontroller.NewDynamicController(logr.Discard(), dynamiccontroller.Config{
				Workers: 1, ResyncPeriod: 10 * time.Hour, QueueMaxRetries: 20, MinRetryDelay: 200 * time.Millisecond, MaxRetryDelay: 1000 * time.Second,
				RateLimit: 10, BurstLimit: 100,
			}, set.Metadata(), set.RESTMapper())
			registry := revisions.NewRegistry()
			limits := graph.RGDConfig{MaxCollectionSize: 1000, MaxCollectionDimensionSize: 10}
			return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error {
				return errors.Join(
					resourcegraphdefinition.NewResourceGraphDefinitionReconciler(set, dynamic, builder, registry, resourcegraphdefinition.Config{
						InstanceRequeueInterval: 3 * time.Second, ProgressRequeueDelay: 3 * time.Second, MaxConcurrentReconciles: 1, MaxGraphRevisions: 5, RGDConfig: limits,
					}).SetupWithManager(mgr),
					graphrevision.NewGraphRevisionReconciler(builder, registry, 1, limits).SetupWithManager(mgr),
					mgr.Add(dynamic),
				)
			}, controllerruntime.WithScheme(scheme))
		},
	})
}
