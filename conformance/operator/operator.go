// Package operator runs a small operator, written with controller-runtime, against
// fakecluster, and checks that it can do its work.
package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fakecluster/fakecluster/conformance/verdict"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "operator.txt",
	Comment: `What a small operator does under controller-runtime's manager, step by step.
Written by "go run . -only operator -update".`,
}

const leaseName = "greetings"

// operator is the manager with its cluster, while they run.
type operator struct {
	cluster   *fakecluster.Cluster
	client    client.Client // not the manager's: it reads from no cache
	manager   manager.Manager
	farewells chan string

	stop    context.CancelFunc
	stopped chan error // gets what the manager's Start returns
}

// Run runs the operator against a cluster of its own and returns what it could do, and then without each
// of its rules.
func Run(ctx context.Context) ([]verdict.Result, error) {
	// The logs of the libraries are dropped: after the manager has stopped, they complain
	// about events that they could not send any more.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	roles, err := roles()
	if err != nil {
		return nil, err
	}
	o, end, err := begin(ctx, roles)
	if err != nil {
		return nil, err
	}
	results := o.play(ctx)
	end()
	return append(results, runWithoutRules(ctx)), nil
}

// begin starts the operator, and a cluster with the roles. Both run until end is called.
func begin(ctx context.Context, roles []runtime.Object, more ...fakecluster.Option) (o *operator, end func(), err error) {
	cluster, err := fakecluster.New(append(more, fakecluster.WithObjects(roles...), fakecluster.WithCRDPaths("operator/crd.yaml"), fakecluster.WithWebhookPaths("operator/webhooks.yaml"),
		fakecluster.WithControllers(append(fakecluster.DefaultControllers(), fakecluster.GarbageCollector)...))...)
	if err != nil {
		return nil, nil, err
	}
	if o, err = newOperator(cluster); err != nil {
		cluster.Close()
		return nil, nil, fmt.Errorf("making the operator: %w", err)
	}
	ctx, o.stop = context.WithCancel(ctx)
	go func() { o.stopped <- o.manager.Start(ctx) }()
	return o, func() {
		o.stop()
		cluster.Close()
	}, nil
}

func newOperator(cluster *fakecluster.Cluster) (*operator, error) {
	kinds := runtime.NewScheme()
	if err := scheme.AddToScheme(kinds); err != nil {
		return nil, err
	}
	addToScheme(kinds)
	webhooks := cluster.WebhookServer()
	// A second run in the process has a controller of the same name.
	sameName := true
	stopsWithin := 5 * time.Second
	mgr, err := ctrl.NewManager(cluster.ServiceAccountConfig("default", "greeter"), manager.Options{
		Scheme:                        kinds,
		Metrics:                       server.Options{BindAddress: "0"},
		Controller:                    config.Controller{SkipNameValidation: &sameName},
		GracefulShutdownTimeout:       &stopsWithin,
		LeaderElection:                true,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       core.NamespaceDefault,
		LeaderElectionReleaseOnCancel: true,
		WebhookServer:                 webhook.NewServer(webhook.Options{Host: webhooks.Host, Port: webhooks.Port, CertDir: webhooks.CertDir}),
	})
	if err != nil {
		return nil, err
	}
	o := &operator{
		cluster: cluster, manager: mgr,
		farewells: make(chan string, 1), stopped: make(chan error, 1),
	}
	if o.client, err = client.New(cluster.RESTConfig(), client.Options{Scheme: kinds}); err != nil {
		return nil, err
	}
	err = ctrl.NewWebhookManagedBy(mgr, &Greeting{}).WithDefaulter(defaulter{}).WithValidator(validator{}).Complete()
	if err != nil {
		return nil, err
	}
	err = ctrl.NewControllerManagedBy(mgr).For(&Greeting{}).
		Owns(&core.ConfigMap{}).Owns(&apps.Deployment{}).Owns(&core.Service{}).
		Complete(&reconciler{client: mgr.GetClient(), events: mgr.GetEventRecorder(fieldOwner), farewells: o.farewells})
	return o, err
}
