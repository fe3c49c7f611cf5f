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

	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestTrustManager(t *testing.T) {
	explored.Run(t, "github.com/cert-manager/trust-manager", subject(t))
}

// subject is the version of go.mod.
func subject(t *testing.T) explore.Subject {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), trustapi.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	in := explored.Folder(t, "github.com/cert-manager/trust-manager")
	options := controller.Options{Namespace: "cert-manager", SecretTargetsEnabled: true}
	return explore.Subject{
		Install: in("deploy/crds/trust.cert-manager.io_bundles.yaml"),
		Roles:   []string{"roles.yaml"},
		Seeds:   []string{"bundle.yaml"},
		Options: []fakecluster.Option{fakecluster.WithWebhookPaths("webhook.yaml")},
		Prepare: func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
			return func(ctx context.Context, cfg *rest.Config) error {
				return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error {
					return errors.Join(bundle.SetupWithManager(ctx, mgr, options), webhook.SetupWebhookWithManager(mgr))
				}, controllerruntime.WithOptions(ctrl.Options{Scheme: scheme, Cache: bundle.CacheOpts(options)}), controllerruntime.WithWebhooks(c))
			}
		},
	}
}
