package player

import (
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/faults"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Inject injects a fault.
func (c inProcess) Inject(f faults.Fault) error { return c.Cluster.Inject(f).Err() }

// seed is the seed of every cluster, so that uids and generated names are the same in each run.
const seed = 1

// InProcess is a Starter of clusters in this process, without sockets.
func InProcess(options ClusterOptions) (Backend, error) { return inThisProcess(options, nil) }

// InProcessWith is InProcess, with more options for each cluster, such as fakecluster.WithCRDPaths. They come
// after those of the scenario.
func InProcessWith(more ...fakecluster.Option) Starter {
	return func(options ClusterOptions) (Backend, error) { return inThisProcess(options, more) }
}

func inThisProcess(options ClusterOptions, more []fakecluster.Option) (Backend, error) {
	described, err := options.Cluster.Options(nil)
	if err != nil {
		return nil, err
	}
	with := append([]fakecluster.Option{fakecluster.InProcess(), fakecluster.WithSeed(seed)}, described...)
	for _, s := range options.Services {
		with = append(with, fakecluster.WithService(s.Namespace, s.Name, s.Port, s.Handler))
	}
	c, err := fakecluster.New(append(with, more...)...)
	if err != nil {
		return nil, err
	}
	return inProcess{c}, nil
}

// inProcess is a cluster in this process.
type inProcess struct{ *fakecluster.Cluster }

// living returns the cluster for Player.Live.
func (c inProcess) living() *fakecluster.Cluster { return c.Cluster }

// Fork returns an independent copy of the cluster.
func (c inProcess) Fork() (Backend, error) {
	fork, err := c.NewFork()
	if err != nil {
		return nil, err
	}
	return inProcess{fork}, nil
}

// Backend is the cluster that a scenario is played on.
type Backend interface {
	// RESTConfig is for the administrator, ConfigFor for a user with groups, and ServiceAccountConfig for a
	// service account.
	RESTConfig() *rest.Config
	ConfigFor(user string, groups ...string) *rest.Config
	ServiceAccountConfig(namespace, name string) *rest.Config
	// CABundle returns the PEM of the authority that signed the certificates of the
	// services, and ServiceURL returns the address of one of them.
	CABundle() []byte
	ServiceURL(namespace, name string, port int) string
	// Fork returns an independent copy of the cluster, on which a case is played. Play closes it.
	Fork() (Backend, error)
	// Inject injects a fault until Close, and Compact discards the history.
	Inject(faults.Fault) error
	Compact() error
	Close() error
}

// ClusterOptions is what a Starter needs to make the cluster of a scenario.
type ClusterOptions struct {
	// ClusterOptions are the options in the scenario.
	syntax.ClusterOptions
	// Groups are the groups of the definitions and APIServices that the scenario creates.
	Groups []string
	// Services are the services of the webhooks of the scenario.
	Services []Service
}

// Service is a handler that the cluster calls over TLS when a webhook refers to the service.
type Service struct {
	syntax.Service
	Handler http.Handler
}

// A Starter makes a cluster for playing one scenario once. Play closes it when the scenario
// ends.
type Starter func(ClusterOptions) (Backend, error)
