package pod

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fakecluster/fakecluster/workloads"
)

// NewManager returns a manager for a container, as ctrl.NewManager does. Its options have the meaning that
// they have in a container of a real cluster:
//
//   - The configuration is that of the Pod's ServiceAccount, as [workloads.Container.RESTConfig] returns it.
//   - The webhook server, metrics and health probes listen on the Pod's network, at the ports of the options.
//     A WebhookServer has to be one of webhook.NewServer. Certificates are read from the container's files
//     for each connection.
//   - Leader election has the Pod's namespace, unless LeaderElectionNamespace is set, and the Pod's name in its identity.
//   - The log, including errors of watches, goes to the standard error stream of the container, unless Logger
//     is set.
//   - Controller.SkipNameValidation is true, unless it is set, because all Pods of a test are in one process.
//
// It fails if the Pod has no token, or if PprofBindAddress is set, because the profile would be that of the
// whole test. A port that is in use is an error of the manager's Start.
func NewManager(c *workloads.Container, options ctrl.Options) (ctrl.Manager, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	if options.PprofBindAddress != "" && options.PprofBindAddress != "0" {
		return nil, errors.New("PprofBindAddress: a profile would be that of the whole test; leave it empty in tests")
	}
	m := &inPod{container: c, options: options}
	if options.Logger.GetSink() == nil {
		options.Logger = textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(c.Stderr)))
	}
	if log := options.Logger; options.Cache.DefaultWatchErrorHandler == nil {
		options.Cache.DefaultWatchErrorHandler = func(ctx context.Context, r *cache.Reflector, err error) {
			cache.DefaultWatchErrorHandler(logr.NewContext(ctx, log), r, err) // ctx has the logger of the process
		}
	}
	if options.Controller.SkipNameValidation == nil {
		options.Controller.SkipNameValidation = new(true)
	}
	if options.WebhookServer, err = newWebhookServer(c, options.WebhookServer); err != nil {
		return nil, err
	}
	options.HealthProbeBindAddress, options.Metrics = "0", metricsserver.Options{BindAddress: "0"} // Start serves them
	lock, err := newLock(c, config, &options)
	if err != nil {
		return nil, err
	}
	if m.Manager, err = ctrl.NewManager(config, options); err != nil {
		return nil, err
	}
	if lock != nil {
		//lint:ignore SA1019 leader election needs a recorder of this type
		lock.LockConfig.EventRecorder = m.GetEventRecorderFor(lock.Identity())
	}
	return m, nil
}

// inPod is a manager whose servers listen on the network of a container.
type inPod struct {
	ctrl.Manager
	container *workloads.Container
	options   ctrl.Options // as they were given

	mu            sync.Mutex
	started       bool
	health, ready map[string]healthz.Checker
	extra         map[string]http.Handler // extra handlers of the metrics server
}

// AddHealthzCheck implements ctrl.Manager.
func (m *inPod) AddHealthzCheck(name string, check healthz.Checker) error {
	return add(m, &m.health, name, check)
}

// AddReadyzCheck implements ctrl.Manager.
func (m *inPod) AddReadyzCheck(name string, check healthz.Checker) error {
	return add(m, &m.ready, name, check)
}

// AddMetricsServerExtraHandler implements ctrl.Manager.
func (m *inPod) AddMetricsServerExtraHandler(path string, handler http.Handler) error {
	return add(m, &m.extra, path, handler)
}

func add[T any](m *inPod, to *map[string]T, name string, value T) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started {
		return fmt.Errorf("unable to add %q because the manager has started", name)
	}
	if *to == nil {
		*to = map[string]T{}
	}
	(*to)[name] = value
	return nil
}

// Start implements ctrl.Manager.
func (m *inPod) Start(ctx context.Context) error {
	m.mu.Lock()
	m.started = true
	m.mu.Unlock()
	if err := m.serveHealth(); err != nil {
		return fmt.Errorf("the health probes: %w", err)
	}
	if err := m.serveMetrics(); err != nil {
		return fmt.Errorf("the metrics: %w", err)
	}
	return m.Manager.Start(ctx)
}
