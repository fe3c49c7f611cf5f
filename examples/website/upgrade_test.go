package website_test

import (
	"context"
	"errors"
	"testing"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// TestUpgrade brings another image of the web server, and nothing changes for websites that exist. Of a real operator, the old
// version is a copy of its last release.
func TestUpgrade(t *testing.T) {
	to := serving("nginx:1.30")
	to.Trials = 16
	// The webhook has written the image into the spec, so websites keep the old one until their users change it. Without this
	// line, that is a finding.
	to.Ignore = []string{"websites.example.com /spec/image", "deployments.apps /spec/template/spec/containers/*/image"}
	explore.Upgrade(t, serving("nginx:1.29"), to)
}

// serving is the operator with an image of the web server.
func serving(image string) explore.Subject {
	s := subject()
	s.Prepare = func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
		operator := website.Operator{Image: image, Registry: &registry{}}
		return func(ctx context.Context, cfg *rest.Config) error {
			return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error {
				return errors.Join(operator.SetupController(mgr), operator.SetupWebhooks(mgr))
			}, controllerruntime.WithScheme(scheme), controllerruntime.WithWebhooks(c))
		}
	}
	return s
}
