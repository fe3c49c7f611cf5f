package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// Option configures the manager of Run or Start.
type Option func(*settings)

// settings has the values of the options.
type settings struct {
	manager ctrl.Options
	config  *rest.Config         // nil: that of the cluster
	calls   *fakecluster.Cluster // the cluster that calls the webhooks of Start; nil: none
}

// WithConfig makes the manager's clients use a configuration, such as that of the operator's service
// account: c.ServiceAccountConfig("system", "operator"). It is for Run; Start takes the configuration as
// an argument.
//
// Default: the cluster's RESTConfig, whose user may do everything.
func WithConfig(cfg *rest.Config) Option { return func(s *settings) { s.config = cfg } }

// WithWebhooks makes a cluster call the webhooks of the manager of [Start]. The cluster must have been
// started with fakecluster.WithWebhookPaths; otherwise Start fails. Use it in Prepare of explore.Operator,
// which gets the cluster of each trial. Run calls the webhooks without it.
//
// Default: the webhooks of Start are not called.
func WithWebhooks(c *fakecluster.Cluster) Option { return func(s *settings) { s.calls = c } }

// WithScheme sets the scheme of the manager. It is short for WithOptions with the field Scheme. Give it after
// WithOptions, which replaces it.
//
// Default: the scheme of client-go.
func WithScheme(scheme *runtime.Scheme) Option {
	return func(s *settings) { s.manager.Scheme = scheme }
}

// WithOptions sets the options of the manager. Fields that are not set get the values that tests need:
// Metrics.BindAddress and HealthProbeBindAddress are "0", Controller.SkipNameValidation is true, and the
// WebhookServer is one that the cluster calls. In Run the Logger writes errors to the log of the test.
//
// Default: the zero ctrl.Options with these values.
func WithOptions(options ctrl.Options) Option { return func(s *settings) { s.manager = options } }

// Run creates a manager, calls setup to add controllers and webhooks, starts the manager, and stops it with
// the test. When it returns, the cluster can call the webhooks. The manager's caches may not have synced yet;
// reads of its client wait for that. An error of setup fails the test with t.Fatal, and an error of the
// running manager with t.Error.
func Run(t testing.TB, c *fakecluster.Cluster, setup func(ctrl.Manager) error, options ...Option) ctrl.Manager {
	t.Helper()
	tb := c.TB(t)
	log := &testLog{t: t}
	s, err := apply(options)
	if err != nil {
		tb.Fatalf("controllerruntime: %v", err)
	}
	if s.config == nil {
		s.config = c.RESTConfig()
	}
	if s.calls != nil {
		tb.Fatalf("controllerruntime: WithWebhooks is for Start; leave it out, because Run calls the webhooks without it")
	}
	if s.manager.Logger.GetSink() == nil {
		s.manager.Logger = log.logger()
	}
	if s.manager.BaseContext == nil {
		s.manager.BaseContext = func() context.Context { return c.ControllerContext(context.Background()) }
	}
	var hooks *webhooks
	if s.manager.WebhookServer == nil {
		hooks = newWebhooks()
		s.manager.WebhookServer = hooks
	}
	running := &atomic.Bool{}
	s.manager.NewCache = advising(s.manager.NewCache, func(line string) { log.write(line, "") }, running)
	mgr, err := s.newManager(s.config, setup)
	if err != nil {
		tb.Fatalf("controllerruntime: %v", err)
	}
	switch {
	case hooks == nil:
	case c.WebhookServer().Port != 0:
		if err := c.ServeWebhooks(hooks.handler(func(text string) { t.Log("controllerruntime: " + text) })); err != nil {
			tb.Fatalf("controllerruntime: %v", err)
		}
	case len(hooks.paths) > 0:
		folder := "config/webhook"
		if !slices.ContainsFunc(hooks.paths, func(path string) bool { return path != conversionPath }) {
			folder = "config/crd" // that of the definitions: the option needs a folder, with configurations or without
		}
		t.Logf("controllerruntime: the manager has webhooks, which the cluster does not call: start it with fakecluster.WithWebhookPaths(%q)", folder)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	running.Store(true)
	go func() {
		defer close(stopped)
		defer running.Store(false)
		if err := mgr.Start(ctx); err != nil {
			tb.Errorf("controllerruntime: the manager: %v", advised(err))
		}
	}()
	t.Cleanup(func() {
		log.stopping()
		stop()
		<-stopped
		log.end()
	})
	return mgr
}

// Start creates a manager, calls setup to add controllers, and runs the manager until ctx ends. It is for
// scenarios.WithController, package explore, and programs. The webhooks of the manager are called only with
// [WithWebhooks]. Start returns the error of setup or of the manager.
func Start(ctx context.Context, cfg *rest.Config, setup func(ctrl.Manager) error, options ...Option) error {
	s, err := apply(options)
	if err != nil {
		return fmt.Errorf("controllerruntime: %w", err)
	}
	if s.config != nil {
		return errors.New("controllerruntime: WithConfig is for Run; Start takes the configuration as an argument")
	}
	var hooks *webhooks
	if s.manager.WebhookServer == nil {
		hooks = newWebhooks()
		s.manager.WebhookServer = hooks
	}
	if s.manager.BaseContext == nil { // panics of controllers are recorded by the cluster in the values of ctx
		s.manager.BaseContext = func() context.Context { return context.WithoutCancel(ctx) }
	}
	mgr, err := s.newManager(cfg, setup)
	if err != nil {
		return err
	}
	if s.calls != nil {
		if hooks == nil {
			return errors.New("controllerruntime: WithWebhooks needs the default WebhookServer: leave it out of WithOptions")
		}
		if err := s.calls.ServeWebhooks(hooks.handler(func(string) {})); err != nil {
			return fmt.Errorf("controllerruntime: %w", err)
		}
	}
	return mgr.Start(ctx)
}

// NewClient returns a client of the cluster's administrator. It reads from the server and not from a cache. A
// nil scheme means that of client-go. An error fails the test with t.Fatal.
func NewClient(t testing.TB, c *fakecluster.Cluster, scheme *runtime.Scheme) client.WithWatch {
	t.Helper()
	cl, err := client.NewWithWatch(c.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		c.TB(t).Fatalf("controllerruntime: the client: %v", err)
	}
	return cl
}

func apply(options []Option) (s settings, err error) {
	for i, o := range options {
		if o == nil {
			return s, fmt.Errorf("option %d is nil", i+1)
		}
		o(&s)
	}
	return s, nil
}

// newManager creates a manager with the options that tests need, and calls setup.
func (s *settings) newManager(cfg *rest.Config, setup func(ctrl.Manager) error) (ctrl.Manager, error) {
	if setup == nil {
		return nil, errors.New("setup is nil: it has to add the controllers to the manager")
	}
	o := s.manager
	if o.Metrics.BindAddress == "" {
		o.Metrics.BindAddress = "0" // no socket
	}
	if o.HealthProbeBindAddress == "" {
		o.HealthProbeBindAddress = "0"
	}
	if o.Controller.SkipNameValidation == nil {
		o.Controller.SkipNameValidation = new(true) // each test has controllers of the same names
	}
	mgr, err := ctrl.NewManager(cfg, o)
	if err != nil {
		return nil, fmt.Errorf("the manager: %w", err)
	}
	if err := setup(mgr); err != nil {
		return nil, fmt.Errorf("setup: %w", advised(err))
	}
	return mgr, nil
}

// conversionPath is the path at which controller-runtime's builder registers its conversion webhook.
const conversionPath = "/convert"

// webhooks is a webhook server that does not listen: the cluster calls its mux.
type webhooks struct {
	webhook.Server
	paths []string // the paths of the registered webhooks
}

func newWebhooks() *webhooks { return &webhooks{Server: webhook.NewServer(webhook.Options{})} }

// Register implements webhook.Server.
func (w *webhooks) Register(path string, hook http.Handler) {
	w.paths = append(w.paths, path)
	w.Server.Register(path, hook)
}

// handler returns the handler of the webhooks. It logs a call of a path that the manager does not serve,
// because the error that clients get does not name the path.
func (w *webhooks) handler(log func(string)) http.Handler {
	mux, served := w.WebhookMux(), "no webhooks: register them in setup, with ctrl.NewWebhookManagedBy(mgr, &Kind{}).Complete()"
	if len(w.paths) > 0 {
		served = strings.Join(w.paths, ", ")
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if mux != nil {
			if _, pattern := mux.Handler(req); pattern != "" {
				mux.ServeHTTP(rw, req)
				return
			}
		}
		text := fmt.Sprintf("a webhook is called at %s, and the manager serves %s", req.URL.Path, served)
		log(text)
		http.Error(rw, text, http.StatusNotFound)
	})
}

// Start implements webhook.Server.
func (w *webhooks) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// StartedChecker implements webhook.Server.
func (w *webhooks) StartedChecker() healthz.Checker { return healthz.Ping }
