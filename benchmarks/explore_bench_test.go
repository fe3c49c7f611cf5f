//go:build unix

package benchmarks

import (
	"context"
	"errors"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// trialsMeasured is how many trials one exploration has. It is enough for all kinds of trials, and for random sequences.
const trialsMeasured = 200

// BenchmarkExplore measures explorations of the operator of examples/website, which has webhooks: how many trials there are in a second, and
// what one takes of processor time. The pods of workloads run in the second exploration.
func BenchmarkExplore(b *testing.B) {
	for _, c := range []struct {
		name      string
		workloads func(testing.TB, *fakecluster.Cluster)
	}{
		{"without-workloads", nil},
		{"with-workloads", func(t testing.TB, c *fakecluster.Cluster) { workloads.Run(t, c, workloads.Nodes(1)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var time stopwatch
			trials := 0
			for b.Loop() {
				asTest(b, func(t *testing.T) {
					var found explore.Found
					var err error
					time.measure(func() { found, err = explore.FindOperator(t, exploredWebsite(c.workloads, trialsMeasured)) })
					check(t, err)
					if len(found.Findings) > 0 {
						t.Errorf("%s: %+v", found, found.Findings)
					}
					trials += found.Trials + found.Rejected
				})
			}
			b.ReportMetric(float64(trials)/time.real.Seconds(), "trials/s")
			b.ReportMetric(float64(time.processor.Microseconds())/1000/float64(trials), "cpu-ms/trial")
		})
	}
}

// exploredWebsite is the operator of examples/website, with its webhooks and under its role.
func exploredWebsite(workloads func(testing.TB, *fakecluster.Cluster), trials int) explore.Subject {
	const folder = "../examples/website/"
	scheme := website.NewScheme()
	return explore.Subject{
		Install:   []string{folder + "config/crd", folder + "config/rbac"},
		Roles:     []string{folder + "config/rbac"},
		Seeds:     []string{folder + "testdata/seeds/website.yaml"},
		Options:   []fakecluster.Option{fakecluster.WithWebhookPaths(folder + "config/webhook")},
		Workloads: workloads,
		Trials:    trials,
		Prepare: func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
			operator := website.Operator{Image: "registry.example.com/web:1.0", Registry: &registry{owners: map[string]string{}}}
			return func(ctx context.Context, config *rest.Config) error {
				return controllerruntime.Start(ctx, config, func(mgr ctrl.Manager) error {
					return errors.Join(operator.SetupController(mgr), operator.SetupWebhooks(mgr))
				}, controllerruntime.WithScheme(scheme), controllerruntime.WithWebhooks(c))
			}
		},
	}
}

// registry has the hosts of Websites.
type registry struct {
	mu     sync.Mutex
	owners map[string]string
}

// Register implements website.Registry.
func (r *registry) Register(_ context.Context, host, _, owner string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if has := r.owners[host]; has != "" && has != owner {
		return website.ErrTaken
	}
	r.owners[host] = owner
	return nil
}

// Release implements website.Registry.
func (r *registry) Release(_ context.Context, host, owner string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners[host] == owner {
		delete(r.owners, host)
	}
	return nil
}

// TestExploreDoesWhatIsMeasured proves that trials run the operator: it has no findings, and its role is needed.
func TestExploreDoesWhatIsMeasured(t *testing.T) {
	s := exploredWebsite(nil, 20)
	found, err := explore.FindOperator(t, s)
	check(t, err)
	if len(found.Findings) > 0 || len(found.Unchecked) > 0 {
		t.Errorf("%s: %+v, unchecked %q", found, found.Findings, found.Unchecked)
	}
}
