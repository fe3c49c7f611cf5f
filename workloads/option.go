package workloads

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/description/living"
	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/workloads/internal/container"
	"github.com/fakecluster/fakecluster/workloads/internal/controlplane"
)

// Option is an option of Run and New.
type Option func(*settings)

type settings struct {
	controllers   []string        // nil: all
	configFile    string          // of SchedulerConfig
	configured    bool            // SchedulerConfig is given
	schedulerData json.RawMessage // the configuration of the scheduler in the file of ConfigFile
	noScheduler   bool
	data          *living.Config // of ConfigFile
	dataName      string         // the name of that file
	logger        logr.Logger
	notices       func(string)
	nodes         []*corev1.Node
	behaviors     []Behavior
	images        []container.Image
	files         []imageFiles
	onlyKnown     bool // OnlyKnownImages
	controlPlane  bool
	provisioners  []string
	wrong         []error // options with impossible arguments
	repeated      string  // an option that was given twice
	alreadyGiven  map[string]bool
}

// once returns an option that may be given once.
func once(name string, set func(*settings)) Option {
	return func(s *settings) {
		if s.alreadyGiven[name] {
			s.repeated = name
		}
		s.alreadyGiven[name] = true
		set(s)
	}
}

// Controllers selects the controllers that act, by the names that they have in the flag
// --controllers of kube-controller-manager and cloud-controller-manager: "*" stands for all, "name"
// for one, and "-name" takes one away from "*". ControllerNames returns the names. For an unknown
// name, the error lists the names; for a controller of kube-controller-manager that does not run
// here, the error gives the reason. Controllers() runs none.
//
// Controllers that act within the writes of the cluster, by [fakecluster.WithControllers], always
// act: naming one with "-" is an error, except for namespace-controller. Kubernetes'
// namespace-controller replaces the one that acts within the writes, so that a namespace is gone
// five seconds after its deletion at the earliest, as in a real cluster. With
// "-namespace-controller" the one within the writes continues, and a namespace is gone at once.
//
// Default: "*".
func Controllers(names ...string) Option {
	return once("Controllers", func(s *settings) { s.controllers = append([]string{}, names...) })
}

// ControllerNames returns the names of all controllers.
func ControllerNames() []string {
	names := controlplane.Names()
	for _, c := range fakecluster.AllControllers() {
		names = append(names, string(c))
	}
	slices.Sort(names)
	return slices.Compact(names) // namespace-controller is both
}

// SchedulerConfig names a file with a KubeSchedulerConfiguration, as kube-scheduler's flag --config does: profiles, their
// plugins and arguments, back-off. An error in it is an error of Run.
//
// Default: the default profile.
func SchedulerConfig(path string) Option {
	return once("SchedulerConfig", func(s *settings) { s.configFile, s.configured = path, true })
}

// WithoutScheduler runs no scheduler. Pods stay Pending unless something binds them.
func WithoutScheduler() Option {
	return once("WithoutScheduler", func(s *settings) { s.noScheduler = true })
}

// Logger sets the logger of the controllers, the scheduler and the nodes. Many messages are about
// conflicts that are retried, and about clients of kubectl exec that have closed their connections.
// Kubernetes' code that logs without a context always writes to klog: if an exec names a program
// that the container does not have, for the Events of four controllers (endpointslice,
// endpointslicemirroring, resourceclaim, ephemeral-volume), and when the controller of load
// balancers starts and ends. klog.SetLogger sends these elsewhere; fakecluster serve drops them.
//
// Default: nothing is logged.
func Logger(l logr.Logger) Option {
	return once("Logger", func(s *settings) { s.logger = l })
}

// Notices sets the function that gets notices about what a cluster with Nodes does not do, each notice once.
// For example, a Pod that should complete gets a notice, because the program of its image is not run. Several
// goroutines may call the function at the same time.
//
// Default: notices go to the log of the test; with New, to [Logger].
func Notices(to func(sentence string)) Option {
	return once("Notices", func(s *settings) { s.notices = to })
}

// read returns the settings of options.
func read(opts []Option) (*settings, error) {
	s := &settings{logger: logr.Discard(), alreadyGiven: map[string]bool{}}
	for i, o := range opts {
		if o == nil {
			return nil, fmt.Errorf("option %d is nil", i+1)
		}
		o(s)
	}
	s.addData()
	s.addControlPlane()
	if s.repeated != "" {
		return nil, fmt.Errorf("%s is given twice; give it once", s.repeated)
	}
	if s.noScheduler && s.configured {
		return nil, fmt.Errorf("WithoutScheduler and SchedulerConfig exclude each other; leave one of them out")
	}
	return s, errors.Join(s.wrong...)
}

// acting returns the names of the selected controllers: those that run as clients, and those that act within
// the writes of the cluster.
func (s *settings) acting(a *fakecluster.Attachment) (clients []string, within []fakecluster.Controller, err error) {
	known := ControllerNames()
	for _, name := range s.controllers {
		if why, missing := controlplane.Missing[strings.TrimPrefix(name, "-")]; missing {
			return nil, nil, fmt.Errorf("Controllers: %s does not run in a living cluster, because %s", strings.TrimPrefix(name, "-"), why)
		}
		if name != "*" && !slices.Contains(known, strings.TrimPrefix(name, "-")) {
			return nil, nil, fmt.Errorf("Controllers: there is no controller %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	for _, name := range known {
		client := slices.Contains(controlplane.Names(), name)
		left := slices.Contains(s.controllers, "-"+name)
		if left && !client && a.Acts(fakecluster.Controller(name)) {
			return nil, nil, fmt.Errorf("Controllers: %s acts within the writes of the cluster, by the option WithControllers of fakecluster.Start; leave it out there", name)
		}
		switch acts := s.controllers == nil || slices.Contains(s.controllers, name) || slices.Contains(s.controllers, "*"); {
		case left || !acts:
		case client:
			clients = append(clients, name)
		default:
			within = append(within, fakecluster.Controller(name))
		}
	}
	return clients, within, nil
}

// scheduler returns the configuration of the scheduler, or nil if none runs.
func (s *settings) scheduler() (*config.KubeSchedulerConfiguration, error) {
	if s.noScheduler {
		return nil, nil
	}
	var data []byte
	var err error
	source := "SchedulerConfig: " + s.configFile
	switch {
	case s.schedulerData != nil:
		source = s.dataName + ": scheduler"
		if data, err = withKind(s.schedulerData); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
	case s.configured:
		if data, err = manifests.ReadFile(s.configFile); err != nil {
			return nil, fmt.Errorf("SchedulerConfig: %w", err)
		}
	}
	c, err := controlplane.ReadSchedulerConfig(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return c, nil
}
