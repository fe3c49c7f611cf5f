package website

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/remote/explore"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// operator is the operator, with a mistake if ownerless is set: the ConfigMap of a Website has no owner, so that nobody deletes it.
type operator struct{ ownerless bool }

func (o operator) run(ctx context.Context, c *remote.Cluster) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := AddToScheme(scheme); err != nil {
		return err
	}
	skip := true // trials run at the same time
	mgr, err := ctrl.NewManager(&rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		return err
	}
	reconciler := &Reconciler{Client: mgr.GetClient(), Events: quiet{}, Registry: hosts{}}
	if o.ownerless {
		reconciler.Client = ownerless{reconciler.Client}
	}
	if err := ctrl.NewControllerManagedBy(mgr).For(&Website{}).Owns(&appsv1.Deployment{}).Owns(&corev1.ConfigMap{}).Owns(&corev1.Service{}).Complete(reconciler); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func (o operator) subject() explore.Subject {
	folder := os.Getenv("WEBSITE") // of the operator
	return explore.Subject{
		Install: []string{filepath.Join(folder, "config/crd"), filepath.Join(folder, "config/rbac")},
		Roles:   []string{filepath.Join(folder, "config/rbac")},
		Seeds:   []string{filepath.Join(folder, "testdata/seeds/website.yaml")},
		Trials:  40,
		Run:     o.run,
	}
}

// ownerless is a client that applies ConfigMaps without their owner.
type ownerless struct{ client.Client }

func (o ownerless) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if obj.GetObjectKind().GroupVersionKind().Kind == "ConfigMap" {
		obj.SetOwnerReferences(nil)
	}
	return o.Client.Patch(ctx, obj, patch, opts...)
}

// quiet records no Events.
type quiet struct{}

func (quiet) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// hosts is a registry in which all hosts are free.
type hosts struct{}

func (hosts) Register(context.Context, string, string, string) error { return nil }
func (hosts) Release(context.Context, string, string) error          { return nil }

func TestTheOperatorHasNoFindings(t *testing.T) {
	explore.Operator(t, operator{}.subject())
}

func TestThePlantedMistakeIsFound(t *testing.T) {
	found, err := explore.FindOperator(t, operator{ownerless: true}.subject())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(found.Findings, func(f explore.Finding) bool { return f.Oracle == explore.CleansUp }) {
		t.Errorf("%+v", found)
	}
}
