package controllerruntime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// greeter keeps a ConfigMap in each Namespace, and labels ConfigMaps by a webhook.
type greeter struct{ client.Client }

func (g *greeter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if req.Name == "bad" {
		return ctrl.Result{}, errors.New("no greeting for the namespace bad")
	}
	greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: req.Name, Name: "greeting"}}
	_, err := controllerutil.CreateOrUpdate(ctx, g.Client, greeting, func() error {
		greeting.Data = map[string]string{"text": "hello " + req.Name}
		return nil
	})
	return ctrl.Result{}, err
}

// Default implements the webhook.
func (*greeter) Default(_ context.Context, greeting *corev1.ConfigMap) error {
	metav1.SetMetaDataLabel(&greeting.ObjectMeta, "by", "webhook")
	return nil
}

func setup(mgr ctrl.Manager) error {
	g := &greeter{mgr.GetClient()}
	return errors.Join(
		ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Complete(g),
		ctrl.NewWebhookManagedBy(mgr, &corev1.ConfigMap{}).WithDefaulter(g).Complete())
}

// webhookManifests returns the folder with the configuration of the webhook, as controller-gen writes it.
func webhookManifests(t *testing.T) string {
	folder := t.TempDir()
	err := os.WriteFile(filepath.Join(folder, "manifests.yaml"), []byte(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: greeter}
webhooks:
- name: greeter.example.com
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate--v1-configmap}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  sideEffects: None
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestRunInsideAndOutsideOfABubble(t *testing.T) {
	folder := webhookManifests(t)
	greets := func(t *testing.T, c *fakecluster.Cluster) {
		controllerruntime.Run(t, c, setup)
		cl := controllerruntime.NewClient(t, c, nil)
		if err := cl.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}); err != nil {
			t.Fatal(err)
		}
		greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "greeting"}}
		c.WaitFor(t, greeting, fakecluster.CEL("object.data.text == 'hello team'"))
		if greeting.Labels["by"] != "webhook" {
			t.Errorf("the webhook was not called: %v", greeting.Labels)
		}
	}
	t.Run("over sockets", func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.WithWebhookPaths(folder))
		t.Run("a cluster", func(t *testing.T) { greets(t, c) })
		t.Run("a fork", func(t *testing.T) { greets(t, fakecluster.Start(t, fakecluster.WithWebhookPaths(folder)).Fork(t)) })
	})
	base := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithWebhookPaths(folder))
	t.Run("in process", func(t *testing.T) { greets(t, base.Fork(t)) })
	t.Run("in a bubble", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { greets(t, base.Fork(t)) }) })
	t.Run("started in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			greets(t, fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithWebhookPaths(folder)))
		})
	})
}

// The client of the manager may read as soon as Run has returned, before the cache has started. Of a manager that does not run it gets the error.
func TestTheClientWaitsForTheCache(t *testing.T) {
	for range 20 {
		c := fakecluster.Start(t, fakecluster.InProcess())
		var early error
		mgr := controllerruntime.Run(t, c, func(mgr ctrl.Manager) error {
			early = mgr.GetClient().Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})
			return setup(mgr)
		})
		if err := mgr.GetClient().Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{}); err != nil {
			t.Fatal(err)
		}
		if _, ok := errors.AsType[*cache.ErrCacheNotStarted](early); !ok {
			t.Fatalf("in setup: %v", early)
		}
	}
}

// A webhook that the manager does not serve is named in the log, with those that it serves.
func TestWebhooksAtAnotherPathAreNamed(t *testing.T) {
	folder := webhookManifests(t)
	for want, setup := range map[string]func(ctrl.Manager) error{
		"controllerruntime: a webhook is called at /mutate--v1-configmap, and the manager serves no webhooks: register them in setup": func(ctrl.Manager) error { return nil },
		"controllerruntime: a webhook is called at /mutate--v1-configmap, and the manager serves /mutate--v1-secret": func(mgr ctrl.Manager) error {
			return ctrl.NewWebhookManagedBy(mgr, &corev1.Secret{}).WithDefaulter(secrets{}).Complete()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			log := &logged{TB: t}
			c := fakecluster.Start(log, fakecluster.InProcess(), fakecluster.WithWebhookPaths(folder))
			controllerruntime.Run(log, c, setup)
			err := controllerruntime.NewClient(t, c, nil).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
			if err == nil || !strings.Contains(log.text(), want) {
				t.Errorf("%v, log %q, want %s", err, log.text(), want)
			}
		})
	}
}

type secrets struct{}

func (secrets) Default(context.Context, *corev1.Secret) error { return nil }

// logged keeps what a test logs.
type logged struct {
	testing.TB
	mu    sync.Mutex
	lines []string
}

func (l *logged) Log(args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprint(args...))
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

func TestWithConfigRunsTheManagerAsSomebodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		controllerruntime.Run(t, c, setup, controllerruntime.WithConfig(c.ConfigFor("operator", "system:masters")))
		time.Sleep(time.Second)
		synctest.Wait()
		if len(c.Access("operator").Requests) == 0 {
			t.Error("the manager has another user")
		}
	})
}

func TestStartRunsAControllerForExplore(t *testing.T) {
	explore.Run(t, func(t testing.TB, c *explore.Cluster) {
		c.Control("greeter", c.RESTConfig(), func(ctx context.Context, cfg *rest.Config) error {
			return controllerruntime.Start(ctx, cfg, setup)
		})
		c.WaitFor(t, fakecluster.Named("v1", "ConfigMap", "default", "greeting"), fakecluster.CEL("object.data.text == 'hello default'"))
	}, explore.Runs(5))
}

// record is a test that keeps its log in place of failing.
type record struct {
	testing.TB
	ctx   context.Context
	lines []string
	ends  []func()
}

func (r *record) Helper()                  {}
func (r *record) Context() context.Context { return r.ctx }
func (r *record) Cleanup(end func())       { r.ends = append(r.ends, end) }
func (r *record) Log(args ...any)          { r.lines = append(r.lines, fmt.Sprint(args...)) }
func (r *record) Logf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}
func (r *record) Errorf(format string, args ...any) { r.Logf(format, args...) }
func (r *record) Fatalf(format string, args ...any) {
	r.Logf(format, args...)
	panic(r)
}

// logOf runs a manager for a second, and returns what the log of its test contains then.
func logOf(t *testing.T, c *fakecluster.Cluster, setup func(ctrl.Manager) error, options ...controllerruntime.Option) string {
	r := &record{TB: t, ctx: t.Context()}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(r) {
				panic(p)
			}
		}()
		controllerruntime.Run(r, c, setup, options...)
		time.Sleep(time.Second)
		synctest.Wait()
	}()
	for _, end := range r.ends {
		end()
	}
	return strings.Join(r.lines, "\n")
}

// poisoned adds a controller that panics.
func poisoned(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Complete(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { panic("oh") }))
}

// A panic is among the findings of the cluster of its manager, and of no other.
func TestPanicsBelongToTheClusterOfTheManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, other := fakecluster.Start(t, fakecluster.InProcess()), fakecluster.Start(t, fakecluster.InProcess())
		if _, err := other.Clientset().CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(c.ControllerContext(t.Context()))
		defer stop()
		go func() { _ = controllerruntime.Start(ctx, c.RESTConfig(), poisoned) }()
		time.Sleep(time.Second)
		if got := c.Findings().String(); !strings.Contains(got, "a controller (") || !strings.Contains(got, "): oh (") {
			t.Errorf("the findings of the cluster: %s", got)
		}
		if got := other.Findings().String(); strings.Contains(got, "panicked") {
			t.Errorf("the findings of another cluster: %s", got)
		}
	})
}

const (
	register = "register the type: write controllerruntime.WithScheme(scheme), with a scheme that has the types of client-go, " +
		"clientgoscheme.AddToScheme(scheme), and of the package of the type, as v1.AddToScheme(scheme)"
	requeue = "watch what it waits for, with .Owns or .Watches, or return a longer RequeueAfter"
	define  = `if its definition is missing, start the cluster with fakecluster.WithCRDPaths("config/crd")`
)

// cronTab is a kind that no scheme of client-go has.
type cronTab struct{ corev1.ConfigMap }

func (c *cronTab) DeepCopyObject() runtime.Object { return &cronTab{*c.ConfigMap.DeepCopy()} }

// requeueing does nothing, again and again.
func requeueing(after time.Duration) reconcile.Reconciler {
	return reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{RequeueAfter: after}, nil })
}

// A definition that is missing is named at once, and not after the two minutes in which controller-runtime waits for it.
func TestAMissingDefinitionIsNamed(t *testing.T) {
	cronTabs := schema.GroupVersion{Group: "stable.example.com", Version: "v1"}
	kinds := runtime.NewScheme()
	kinds.AddKnownTypeWithName(cronTabs.WithKind("CronTab"), &cronTab{})
	kinds.AddKnownTypeWithName(cronTabs.WithKind("CronTabList"), &corev1.ConfigMapList{})
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		got := logOf(t, c, func(mgr ctrl.Manager) error {
			return ctrl.NewControllerManagedBy(mgr).For(&cronTab{}).Complete(requeueing(time.Hour))
		}, controllerruntime.WithScheme(kinds))
		// The first error of a mapper is another one than the next.
		if want := "controllerruntime: the cache cannot watch *controllerruntime_test.cronTab: "; !strings.HasPrefix(got, want) || !strings.Contains(got, "no matches for ") || !strings.HasSuffix(got, "; "+define) {
			t.Errorf("got %s, want %s…; %s", got, want, define)
		}
		got = logOf(t, c, func(mgr ctrl.Manager) error {
			return ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Complete(reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
				return ctrl.Result{}, reconcile.TerminalError(mgr.GetAPIReader().Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, &cronTab{}))
			}))
		}, controllerruntime.WithScheme(func() *runtime.Scheme { _ = corev1.AddToScheme(kinds); return kinds }()))
		if !strings.Contains(got, "; "+define+" (controller namespace, object default)") {
			t.Errorf("an error of a Reconciler: %s", got)
		}
		if got := c.Findings().String(); !strings.Contains(got, `get /apis/stable.example.com/v1 (4 times): 404: the cluster does not serve /apis/stable.example.com/v1: give the definition to fakecluster.WithCRDPaths, or to remote.CRDPaths`) {
			t.Errorf("the findings: %s", got)
		}
	})
}

func TestTheLogOfTheTestHasWhatGoesWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}))
		for _, test := range []struct {
			name  string
			setup func(ctrl.Manager) error
			want  string
		}{
			{"an error of the Reconciler", setup, "controllerruntime: Reconciler error: no greeting for the namespace bad (controller namespace, object bad)\n"},
			{"the same error again", setup, "times more: Reconciler error: no greeting for the namespace bad (controller namespace, object bad)"},
			{"a panic of the Reconciler", poisoned, "controllerruntime: Observed a panic (controller namespace, panic oh, object bad)\ngoroutine "},
			{"webhooks that nobody calls", setup, `controllerruntime: the manager has webhooks, which the cluster does not call: start it with fakecluster.WithWebhookPaths("config/webhook")`},
			{"conversion webhooks that nobody calls", func(mgr ctrl.Manager) error {
				mgr.GetWebhookServer().Register("/convert", http.NotFoundHandler())
				return nil
			}, `controllerruntime: the manager has webhooks, which the cluster does not call: start it with fakecluster.WithWebhookPaths("config/crd")`},
			{"an error of setup", func(ctrl.Manager) error { return errors.New("no registry") }, "controllerruntime: setup: no registry"},
			{"no setup", nil, "controllerruntime: setup is nil: it has to add the controllers to the manager"},
			{"an error of the manager", func(mgr ctrl.Manager) error {
				return mgr.Add(runnable(func(context.Context) error { return errors.New("out of luck") }))
			}, "controllerruntime: the manager: out of luck"},
			{"a type that is not registered", func(mgr ctrl.Manager) error {
				return errors.Join(nil, ctrl.NewControllerManagedBy(mgr).For(&cronTab{}).Complete(requeueing(time.Hour)))
			}, "controllerruntime: setup: no kind is registered for the type controllerruntime_test.cronTab in scheme \"" + scheme.Scheme.Name() + "\"; " + register},
			{"a watched type that is not registered", func(mgr ctrl.Manager) error {
				return ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Owns(&cronTab{}).Complete(requeueing(time.Hour))
			}, "controllerruntime: the cache cannot watch *controllerruntime_test.cronTab: no kind is registered for the type controllerruntime_test.cronTab in scheme \"" +
				scheme.Scheme.Name() + "\"; " + register},
			{"a requeue each millisecond", func(mgr ctrl.Manager) error {
				return ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == "bad" }))).
					Complete(requeueing(time.Millisecond))
			}, "controllerruntime: requeued 200 times in a row, with RequeueAfter: 1ms: " + requeue + " (controller namespace, object bad)"},
			{"a requeue each nanosecond", func(mgr ctrl.Manager) error {
				return ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == "bad" }))).
					Complete(requeueing(time.Nanosecond))
			}, "controllerruntime: requeued 20000 times within a second, and the test would not end: " + requeue + " (controller namespace, object bad)"},
		} {
			if got := logOf(t, c, test.setup); !strings.Contains(got, test.want) {
				t.Errorf("%s: got %s, want %s", test.name, got, test.want)
			}
		}
	})
}

type runnable func(context.Context) error

func (r runnable) Start(ctx context.Context) error { return r(ctx) }

// A test that ends while a controller works shows no errors of requests that its end has cancelled.
func TestTheLogIsSilentAboutTheEndOfTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		got := logOf(t, c, func(mgr ctrl.Manager) error {
			return ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Complete(reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
				<-ctx.Done()
				return ctrl.Result{}, fmt.Errorf("creating a greeting: %w", ctx.Err())
			}))
		})
		if got != "" {
			t.Error(got)
		}
	})
}

// outer is a test outside of a bubble, which has a deadline.
type outer struct{ *record }

func (outer) Deadline() (time.Time, bool) { return time.Time{}, false }

func TestRunTakesTheTestOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		r := &record{TB: t, ctx: t.Context()}
		defer func() {
			p := recover()
			if got := strings.Join(r.lines, "\n"); p == nil || !strings.HasPrefix(got, "fakecluster: t is the test outside of the synctest bubble") {
				t.Errorf("%v: %s", p, got)
			}
		}()
		controllerruntime.Run(outer{r}, c, setup)
	})
}

func TestANilOptionIsAMistake(t *testing.T) {
	c := fakecluster.Start(t)
	err := controllerruntime.Start(t.Context(), c.RESTConfig(), func(ctrl.Manager) error { return nil }, controllerruntime.WithScheme(scheme.Scheme), nil)
	if want := "controllerruntime: option 2 is nil"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
