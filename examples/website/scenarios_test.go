package website_test

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/scenarios"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestScenarios plays the files in testdata/scenarios, each with the operator beside it. In those with the field workloads the pods of
// Websites run.
func TestScenarios(t *testing.T) {
	scenarios.Run(t, "testdata/scenarios", scenarios.WithController(operateOn), scenarios.WithOptions(installed()...),
		scenarios.WithWorkloads(workloads.FromYAML))
}

// operateOn runs the operator on the cluster of a scenario until ctx ends, as its ServiceAccount.
func operateOn(ctx context.Context, cfg *rest.Config) error {
	cfg.Impersonate.UserName = "system:serviceaccount:system:website-operator"
	return controllerruntime.Start(ctx, cfg, website.Operator{Registry: &registry{}}.SetupController, controllerruntime.WithScheme(scheme))
}
