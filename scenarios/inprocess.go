package scenarios

import "github.com/fakecluster/fakecluster/fakecluster"

// seed is the seed of every cluster, so that a scenario sees the same uids and generated names
// each time.
const seed = 1

// InProcess is the Starter that Run uses: it makes a cluster in this process, without sockets.
func InProcess(options ClusterOptions) (Cluster, error) { return inThisProcess(options, nil) }

// InProcessWith is InProcess, with more options for each cluster, such as fakecluster.WithCRDPaths. They come
// after those that the scenario says.
func InProcessWith(more ...fakecluster.Option) Starter {
	return func(options ClusterOptions) (Cluster, error) { return inThisProcess(options, more) }
}

func inThisProcess(options ClusterOptions, more []fakecluster.Option) (Cluster, error) {
	with := []fakecluster.Option{
		fakecluster.InProcess(), fakecluster.WithSeed(seed), fakecluster.WithRuntimeConfig(options.RuntimeConfig...),
		fakecluster.WithAdmissionPlugins(options.WithAdmissionPlugins...), fakecluster.WithoutAdmissionPlugins(options.WithoutAdmissionPlugins...),
	}
	if options.LegacyAPIs {
		with = append(with, fakecluster.WithLegacyAPIs())
	}
	if options.Controllers != nil {
		var acting []fakecluster.Controller
		for _, name := range options.Controllers {
			acting = append(acting, fakecluster.Controller(name))
		}
		with = append(with, fakecluster.WithControllers(acting...))
	}
	if options.WithoutNamespaceLifecycle {
		with = append(with, fakecluster.WithoutNamespaceLifecycle())
	}
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

// Fork makes an independent copy of the cluster.
func (c inProcess) Fork() (Cluster, error) {
	fork, err := c.NewFork()
	if err != nil {
		return nil, err
	}
	return inProcess{fork}, nil
}
