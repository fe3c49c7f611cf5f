package trustmanager

import (
	"context"
	"errors"
	"testing"

	trustapi "github.com/cert-manager/trust-manager/pkg/apis/trust/v1alpha1"
	"github.com/cert-manager/trust-manager/pkg/bundle"
	"github.com/cert-manager/trust-manager/pkg/bundle/controller"
	"github.com/cert-manager/trust-manager/pkg/webhook"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

const module = "github.com/cert-manager/trust-manager"

func TestTrustManager(t *testing.T) {
	explored.Run(t, module, current(t))
}

// current is the version of go.mod.
func current(t *testing.T) explore.Subject {
	options := controller.Options{Namespace: namespace, SecretTargetsEnabled: true}
	return subject(t, explored.Folder(t, module), trustapi.AddToScheme, bundle.CacheOpts(options), func(ctx context.Context, mgr ctrl.Manager) error {
		return errors.Join(bundle.SetupWithManager(ctx, mgr, options), webhook.SetupWebhookWithManager(mgr))
	})
}

// namespace is the one with the sources of Bundles.
const namespace = "cert-manager"

// subject is a version whose files are in a folder.
func subject(t *testing.T, in func(paths ...string) []string, types func(*runtime.Scheme) error, caches cache.Options,
	setup func(context.Context, ctrl.Manager) error) explore.Subject {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), types(scheme)); err != nil {
		t.Fatal(err)
	}
	return explore.Subject{
		Install: in("deploy/crds/trust.cert-manager.io_bundles.yaml"),
		Roles:   []string{"roles.yaml"},
		Seeds:   []string{"bundle.yaml"},
		Options: []fakecluster.Option{fakecluster.WithWebhookPaths("webhook.yaml")},
		Prepare: func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
			return func(ctx context.Context, cfg *rest.Config) error {
				return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error { return setup(ctx, mgr) },
					controllerruntime.WithOptions(ctrl.Options{Scheme: scheme, Cache: caches}), controllerruntime.WithWebhooks(c))
			}
		},
	}
}
