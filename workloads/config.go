package workloads

import (
	"encoding/json"
	"fmt"
	"io"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/description/living"
	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/workloads/internal/node"
)

// DefaultNodes is the number of Nodes that run if a [ConfigFile], or another description in data,
// does not set nodes.
const DefaultNodes = living.DefaultNodes

// ConfigFile names a YAML file that describes what lives in the cluster, as "fakecluster serve --workloads-config" and the
// field workloads of scenario files do:
//
//	nodes: 5                     # or a list of Node objects; default: 3
//	controlPlane: true           # see ControlPlane
//	behaviors:                   # see Behavior
//	- {image: "nginx:1.27", readyDelay: 30s}
//	programs:                    # see Command; a relative path begins at the folder of the file
//	- {image: "ghcr.io/acme/operator", path: ./bin/manager, args: [--zap-devel]}
//	provisioners: [ebs.csi.aws.com]  # see Provisioners
//	controllers: ["*", "-ttl-controller"]
//	scheduler: false             # or a KubeSchedulerConfiguration
//
// All fields are optional. An unknown field, or a value that the option of the field would reject, is an
// error with the file and the line. A field and the option that does the same exclude each other.
func ConfigFile(path string) Option {
	return once("ConfigFile", func(s *settings) {
		data, err := manifests.ReadFile(path)
		if err != nil {
			s.wrong = append(s.wrong, fmt.Errorf("ConfigFile: %w", err))
			return
		}
		s.describe(path, data)
		if s.data != nil {
			if err := s.data.Resolve(path); err != nil {
				s.wrong = append(s.wrong, fmt.Errorf("ConfigFile: %w", err))
			}
		}
	})
}

// ConfigYAML is as [ConfigFile], with the content of such a file. Paths of programs in it must be absolute.
func ConfigYAML(config []byte) Option {
	return once("ConfigYAML", func(s *settings) { s.describe("workloads", config) })
}

// FromYAML runs workloads in a cluster until Close, as the content of a [ConfigFile] describes them. Scenario
// files with the field workloads need it: scenarios.Run(t, path,
// scenarios.WithWorkloads(workloads.FromYAML)).
func FromYAML(c *fakecluster.Cluster, config []byte) (io.Closer, error) {
	w, err := New(c, ConfigYAML(config))
	if err != nil {
		return nil, err
	}
	return w, nil
}

// describe decodes the text of a file. addData merges it into the options.
func (s *settings) describe(name string, data []byte) {
	c, err := living.ReadFile(name, data)
	if err != nil {
		s.wrong = append(s.wrong, err)
		return
	}
	s.data, s.dataName = c, name
}

// addData merges the file of ConfigFile into the options, and reports options that are given in both.
func (s *settings) addData() {
	c := s.data
	if c == nil {
		return
	}
	given := func(field string, set bool, options ...string) bool {
		for _, option := range options {
			if set && s.alreadyGiven[option] {
				s.wrong = append(s.wrong, fmt.Errorf("%s has %s, and the option %s is given, too; leave one of them out", s.dataName, field, option))
			}
		}
		return set
	}
	switch {
	case given("nodes", c.Nodes.Objects != nil, "Nodes", "NodeObjects"):
		s.nodes = c.Nodes.Objects
	case given("nodes", c.Nodes.Count > 0, "Nodes", "NodeObjects"):
		s.nodes = node.Nodes(c.Nodes.Count)
	case len(s.nodes) == 0:
		s.nodes = node.Nodes(DefaultNodes)
	}
	if given("behaviors", c.Behaviors != nil, "Behaviors") {
		s.behaviors = c.Behaviors
	}
	for _, p := range c.Programs {
		Command(p.Image, p.Path, p.Args...)(s)
	}
	if given("controlPlane", c.ControlPlane, "ControlPlane") {
		s.controlPlane = true
	}
	if given("provisioners", c.Provisioners != nil, "Provisioners") {
		s.provisioners = c.Provisioners
	}
	if given("controllers", c.Controllers != nil, "Controllers") {
		s.controllers = c.Controllers
	}
	if given("scheduler", c.Scheduler.None, "SchedulerConfig", "WithoutScheduler") {
		s.noScheduler = true
	}
	if given("scheduler", c.Scheduler.Config != nil, "SchedulerConfig", "WithoutScheduler") {
		s.schedulerData = c.Scheduler.Config
	}
}

// withKind returns a KubeSchedulerConfiguration with its apiVersion and kind, which the file may leave out.
func withKind(config json.RawMessage) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(config, &fields); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"apiVersion": configv1.SchemeGroupVersion.String(), "kind": "KubeSchedulerConfiguration"} {
		if _, ok := fields[name]; !ok {
			fields[name] = value
		}
	}
	return json.Marshal(fields)
}
