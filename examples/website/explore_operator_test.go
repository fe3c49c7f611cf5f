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

// TestExploreTheOperator looks for mistakes of the operator without a test. For more trials:
//
//	go test -run TestExploreTheOperator -explore.time=10m
func TestExploreTheOperator(t *testing.T) {
	explore.Operator(t, subject(image))
}

// subject is the operator with an image of the web server.
func subject(image string) explore.Subject {
	return explore.Subject{
		Install: []string{"config/crd", "config/rbac"},
		Roles:   []string{"config/rbac"}, // the operator runs as the service account that they bind
		Seeds:   []string{"testdata/seeds/website.yaml"},
		Trials:  200, // -explore.time=10m runs more
		Options: []fakecluster.Option{fakecluster.WithWebhookPaths("config/webhook")},
		Prepare: func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
			hosts := &registry{} // outside of the cluster, and new for each trial
			return func(ctx context.Context, cfg *rest.Config) error {
				operator := website.Operator{Image: image, Registry: hosts}
				return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error {
					return errors.Join(operator.SetupController(mgr), operator.SetupWebhooks(mgr))
				}, controllerruntime.WithScheme(scheme), controllerruntime.WithWebhooks(c))
			}
		},
	}
}
