package website_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fakecluster/fakecluster/examples/internal/program"
	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/remote"
	remoteexplore "github.com/fakecluster/fakecluster/remote/explore"
)

// start runs a manager on a cluster of remote until ctx ends. The cluster calls its webhooks.
func start(ctx context.Context, c *remote.Cluster, setup func(ctrl.Manager) error) error {
	server := silent{webhook.NewServer(webhook.Options{})}
	mgr, err := ctrl.NewManager(&rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", WebhookServer: server,
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err == nil {
		err = setup(mgr)
	}
	if mux := server.WebhookMux(); err == nil && mux != nil {
		err = c.ServeWebhooks(mux)
	}
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// silent does not listen: the cluster calls its handler.
type silent struct{ webhook.Server }

func (silent) Start(ctx context.Context) error { <-ctx.Done(); return nil }
func (silent) StartedChecker() healthz.Checker { return healthz.Ping }

// remoteSubject is the operator with an image of the web server, through module remote.
func remoteSubject(image string) remoteexplore.Subject {
	return remoteexplore.Subject{
		Install: []string{"config/crd", "config/rbac"},
		Roles:   []string{"config/rbac"},
		Seeds:   []string{"testdata/seeds/website.yaml"},
		Trials:  200,
		Options: []remote.Option{remote.WebhookPaths("config/webhook")},
		Prepare: func(testing.TB, *remote.Cluster) func(context.Context, *remote.Cluster) error {
			hosts := &registry{}
			return func(ctx context.Context, c *remote.Cluster) error {
				operator := website.Operator{Image: image, Registry: hosts}
				return start(ctx, c, func(mgr ctrl.Manager) error {
					return errors.Join(operator.SetupController(mgr), operator.SetupWebhooks(mgr))
				})
			}
		},
	}
}

// remoteSubject is the operator with the bug, through module remote.
func (b bug) remoteSubject(t *testing.T) remoteexplore.Subject {
	inProcess := b.subject(t)
	s := remoteSubject(image)
	s.MaxFindings, s.Trials, s.Install, s.Roles, s.Seeds = inProcess.MaxFindings, inProcess.Trials, inProcess.Install, inProcess.Roles, inProcess.Seeds
	for _, o := range inProcess.Without {
		s.Without = append(s.Without, remoteexplore.Oracle(o))
	}
	s.Prepare = func(testing.TB, *remote.Cluster) func(context.Context, *remote.Cluster) error {
		hosts := &registry{}
		return func(ctx context.Context, c *remote.Cluster) error {
			return start(ctx, c, func(mgr ctrl.Manager) error { return b.setup(mgr, hosts) })
		}
	}
	return s
}

func init() {
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, what any) { remote.NotePanic(what) })
}

// The operator has no findings through module remote, as in process. To compare the trials in a second:
//
//	go test -run TestExploreTheOperator -v
func TestExploreTheOperatorThroughRemote(t *testing.T) {
	program.Use(t)
	remoteexplore.Operator(t, remoteSubject(image))
}

// Each planted mistake is found through module remote by the oracle that finds it in process. With -short, one is planted for each oracle.
func TestRemoteFindsPlantedBugs(t *testing.T) {
	program.Use(t)
	planted := map[explore.Oracle]bool{}
	for _, b := range bugs {
		if testing.Short() && planted[b.oracle] {
			continue
		}
		planted[b.oracle] = true
		t.Run(b.name, func(t *testing.T) {
			found, err := remoteexplore.FindOperator(t, b.remoteSubject(t))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(found.Findings, func(f remoteexplore.Finding) bool { return string(f.Oracle) == string(b.oracle) }) {
				t.Errorf("%+v, want one of %s", found, b.oracle)
			}
			for _, f := range found.Findings {
				t.Log(f.Report)
			}
		})
	}
}
