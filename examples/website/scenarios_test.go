package website_test

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/scenarios"
)

// TestScenarios plays the files in testdata/scenarios, each with the operator beside it.
func TestScenarios(t *testing.T) {
	scenarios.Run(t, "testdata/scenarios", scenarios.WithController(operateOn), scenarios.WithOptions(installed(t)...))
}

// operateOn runs the operator on the cluster of a scenario until ctx ends, as its ServiceAccount.
func operateOn(ctx context.Context, cfg *rest.Config) error {
	cfg.Impersonate.UserName = "system:serviceaccount:system:website-operator"
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},          // sockets do not go with virtual time
		Controller: config.Controller{SkipNameValidation: new(true)}, // each scenario has a controller of the same name
	})
	if err != nil {
		return err
	}
	if err := (website.Operator{Registry: &registry{}}).SetupController(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
