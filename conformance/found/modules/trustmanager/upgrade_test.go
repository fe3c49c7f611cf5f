//go:build copied

package trustmanager

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	trustapi "github.com/fakecluster/fakecluster/conformance/found/modules/copied/trustmanager-v0.24.0/pkg/apis/trust/v1alpha1"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/trustmanager-v0.24.0/pkg/bundle"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/trustmanager-v0.24.0/pkg/bundle/controller"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/trustmanager-v0.24.0/pkg/webhook"
	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestTrustManagerUpgrade(t *testing.T) {
	explored.Upgrade(t, "github.com/cert-manager/trust-manager", "v0.24.0", previous(t), subject(t))
}

// previous is the version before.
func previous(t *testing.T) explore.Subject {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), trustapi.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	options := controller.Options{Namespace: "cert-manager", SecretTargetsEnabled: true}
	return explore.Subject{
		Install: []string{"../copied/trustmanager-v0.24.0/deploy/crds/trust.cert-manager.io_bundles.yaml"},
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
