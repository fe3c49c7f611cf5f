package website

import (
	"context"
	"errors"
	"flag"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// NewManager makes the manager of the operator. In production it is ctrl.NewManager with ctrl.GetConfigOrDie().
type NewManager func(ctrl.Options) (ctrl.Manager, error)

// Run runs the operator as config/manager starts it, with the arguments of its command line, until ctx ends. The main of the
// operator calls it with os.Args[1:] and ctrl.SetupSignalHandler().
func (o Operator) Run(ctx context.Context, args []string, newManager NewManager) error {
	flags := flag.NewFlagSet("website-operator", flag.ContinueOnError)
	flags.StringVar(&o.Image, "web-image", o.Image, "serves the page of a Website that names no image")
	elect := flags.Bool("leader-elect", false, "act only as the leader of all replicas")
	metrics := flags.String("metrics-bind-address", ":8080", "")
	health := flags.String("health-probe-bind-address", ":8081", "")
	certificates := flags.String("webhook-cert-path", "", "the folder of tls.crt and tls.key")
	if err := flags.Parse(args); err != nil {
		return err
	}
	mgr, err := newManager(ctrl.Options{
		Scheme:                 NewScheme(),
		LeaderElection:         *elect,
		LeaderElectionID:       "website-operator",
		Metrics:                metricsserver.Options{BindAddress: *metrics},
		HealthProbeBindAddress: *health,
		WebhookServer:          webhook.NewServer(webhook.Options{CertDir: *certificates}),
	})
	if err != nil {
		return err
	}
	if err := errors.Join(
		o.SetupController(mgr),
		o.SetupWebhooks(mgr),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("webhooks", mgr.GetWebhookServer().StartedChecker()),
	); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
