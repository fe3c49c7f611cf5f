package website_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fakecluster/fakecluster/examples/internal/program"
	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/remote"
	remoteexplore "github.com/fakecluster/fakecluster/remote/explore"
)

// configOf is that of clients of a cluster of remote.
func configOf(c *remote.Cluster) *rest.Config {
	return &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}
}

// start runs a manager on a cluster of remote until ctx ends. The cluster calls its webhooks.
func start(ctx context.Context, c *remote.Cluster, setup func(ctrl.Manager) error) error {
	server := silent{webhook.NewServer(webhook.Options{})}
	mgr, err := ctrl.NewManager(configOf(c), ctrl.Options{
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

// Each planted mistake is found through module remote by the oracle that finds it in process.
func TestRemoteFindsPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: TestExplorationFindsPlantedBugs explores the same in process")
	}
	program.Use(t)
	for _, b := range bugs {
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

// The test of the operator whatever goes wrong, through module remote: the operator passes, and a mistake is found by the same schedule as in process.
func TestTheOperatorWhateverGoesWrongThroughRemote(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: TestTheOperatorWhateverGoesWrong runs the same in process")
	}
	program.Use(t)
	for name, setup := range map[string]func(ctrl.Manager, *registry) error{"correct": correct, "registers once": registersOnce} {
		t.Run(name, func(t *testing.T) {
			there, err := remoteexplore.Find(t, func(t testing.TB, c *remoteexplore.Cluster) {
				hosts := &registry{}
				c.Control("website-operator", c.ServiceAccountConfig("system", "website-operator"), func(ctx context.Context, c *remote.Cluster) error {
					return start(ctx, c, func(mgr ctrl.Manager) error { return setup(mgr, hosts) })
				})
				live(t, configOf(c.Cluster), hosts, c.Wait)
			}, remoteexplore.With(remote.Manifests("config/crd", "config/rbac"), remote.Objects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system"}}),
				remote.Controllers(controllers()...)))
			if err != nil {
				t.Fatal(err)
			}
			here, err := explore.Find(t, body(setup), explore.With(installed()...))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d runs here, %d there; %d points here, %d there", here.Runs, there.Runs, here.Points, there.Points)
			switch right := name == "correct"; {
			case right && (here.Failure != nil || there.Failure != nil):
				t.Errorf("here %+v\nthere %+v", here.Failure, there.Failure)
			case right:
			case here.Failure == nil || there.Failure == nil || here.Failure.Schedule != there.Failure.Schedule || here.Failure.Explanation != there.Failure.Explanation:
				t.Errorf("here %+v\nthere %+v", here.Failure, there.Failure)
			default:
				t.Log(there.Failure.Explanation)
			}
		})
	}
}

// controllers are those of installed.
func controllers() (names []string) {
	for _, c := range append(fakecluster.DefaultControllers(), fakecluster.GarbageCollector) {
		names = append(names, string(c))
	}
	return names
}

// registersOnce adds a controller that registers the host of a Website when it has added its finalizer, and never again: if it stops in between,
// the host is not registered.
func registersOnce(mgr ctrl.Manager, hosts *registry) error {
	return ctrl.NewControllerManagedBy(mgr).For(&website.Website{}).Owns(&appsv1.Deployment{}).Owns(&corev1.ConfigMap{}).Owns(&corev1.Service{}).
		Complete(&website.Reconciler{Client: registering{mgr.GetClient(), hosts}, Events: mgr.GetEventRecorder("website-operator"), Registry: registered{hosts}})
}

// registering is a client that registers a host when it has added a finalizer.
type registering struct {
	client.Client
	hosts *registry
}

func (r registering) Update(ctx context.Context, obj client.Object, options ...client.UpdateOption) error {
	if err := r.Client.Update(ctx, obj, options...); err != nil || len(obj.GetFinalizers()) == 0 {
		return err
	}
	return r.hosts.Register(ctx, obj.(*website.Website).Spec.Host, "192.0.2.1", string(obj.GetUID()))
}

// registered is a registry whose hosts are registered elsewhere.
type registered struct{ *registry }

func (registered) Register(context.Context, string, string, string) error { return nil }
