//go:build copied

package trustmanager

import (
	"context"
	"errors"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"

	trustapi "github.com/fakecluster/fakecluster/conformance/found/modules/copied/trustmanager-v0.24.0/pkg/apis/trust/v1alpha1"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/trustmanager-v0.24.0/pkg/bundle"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/trustmanager-v0.24.0/pkg/bundle/controller"
	"github.com/fakecluster/fakecluster/conformance/found/modules/copied/trustmanager-v0.24.0/pkg/webhook"
	"github.com/fakecluster/fakecluster/conformance/found/modules/explored"
	"github.com/fakecluster/fakecluster/explore"
)

func TestTrustManagerUpgrade(t *testing.T) {
	explored.Upgrade(t, module, "v0.24.0", previous(t), current(t))
}

// previous is the version before.
func previous(t *testing.T) explore.Subject {
	options := controller.Options{Namespace: namespace, SecretTargetsEnabled: true}
	return subject(t, explored.CopiedFolder("trustmanager-v0.24.0"), trustapi.AddToScheme, bundle.CacheOpts(options), func(ctx context.Context, mgr ctrl.Manager) error {
		return errors.Join(bundle.SetupWithManager(ctx, mgr, options), webhook.SetupWebhookWithManager(mgr))
	})
}
