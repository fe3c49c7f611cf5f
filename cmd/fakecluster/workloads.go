package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/description/living"
	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/workloads"
)

// livingFlags has the flags of serve about workloads.
type livingFlags struct {
	workloads bool
	nodes     int
	config    string
	programs  []string

	controlPlane bool
	behaviors    []string

	provisioners []string
}

func (l *livingFlags) describe(flags *pflag.FlagSet) {
	flags.BoolVar(&l.workloads, "workloads", false, `run Kubernetes' controllers and scheduler, and nodes whose pods start, become ready
and complete, without images (docs/workloads.md)`)
	flags.IntVar(&l.nodes, "nodes", 0, "with --workloads: the number of nodes, which are in two zones (default 3)")
	flags.BoolVar(&l.controlPlane, "control-plane", false, `with --workloads: add the control plane of a kind cluster: a node "control-plane" with its taint and static pods,
kube-dns, CoreDNS and kube-proxy; their pods run no program`)
	flags.StringArrayVar(&l.programs, "program", nil, `with --workloads, on Linux: IMAGE=PATH runs the containers of an image as this program of the machine, with the
container's arguments, environment, volumes and Services (docs/containers.md); may be repeated`)
	flags.StringArrayVar(&l.behaviors, "behavior", nil, `with --workloads: what containers do, as YAML such as '{image: gatekeeper, admission: allow}' or '{owner: Job/broken, exitCode: 3}'
(docs/workloads.md has the fields); the first one that selects a container applies; may be repeated`)
	flags.StringArrayVar(&l.provisioners, "provisioner", nil, `with --workloads: provision volumes for claims of StorageClasses with this provisioner, such as ebs.csi.aws.com;
'*' means every provisioner; may be repeated`)
	flags.StringVar(&l.config, "workloads-config", "", `with --workloads: a YAML file with any of nodes, controlPlane, behaviors (what containers do), programs,
provisioners, controllers and scheduler, as the field workloads of scenario files has them`)
}

// options returns the options of package workloads, or nil without --workloads.
func (l *livingFlags) options(cmd *cobra.Command) ([]workloads.Option, error) {
	given := cmd.Flags().Changed
	nodes, config := given("nodes"), given("workloads-config")
	var options []workloads.Option
	for _, flag := range []string{"nodes", "control-plane", "program", "behavior", "provisioner", "workloads-config"} {
		if !l.workloads && given(flag) {
			return nil, usageError{fmt.Errorf("--%s: needs --workloads", flag)}
		}
	}
	switch {
	case !l.workloads:
		return nil, nil
	case nodes && l.nodes < 1:
		return nil, usageError{fmt.Errorf("--nodes: %d is too few; write at least 1", l.nodes)}
	case nodes:
		options = append(options, workloads.Nodes(l.nodes))
	case !config:
		options = append(options, workloads.Nodes(workloads.DefaultNodes))
	}
	if l.controlPlane {
		options = append(options, workloads.ControlPlane())
	}
	if config {
		options = append(options, workloads.ConfigFile(l.config))
	}
	var behaviors []workloads.Behavior
	for _, text := range l.behaviors {
		b, err := living.ReadBehavior(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--behavior %q: %w", text, err)}
		}
		behaviors = append(behaviors, b)
	}
	if behaviors != nil {
		options = append(options, workloads.Behaviors(behaviors...))
	}
	if l.provisioners != nil {
		options = append(options, workloads.Provisioners(l.provisioners...))
	}
	for _, program := range l.programs {
		image, path, ok := strings.Cut(program, "=")
		if !ok || image == "" || path == "" {
			return nil, usageError{fmt.Errorf("--program: %q is not IMAGE=PATH, such as ghcr.io/acme/operator=./bin/manager", program)}
		}
		options = append(options, workloads.Command(image, path))
	}
	return options, nil
}

// endsNamespaces reports whether upstream's namespace-controller runs. It does, unless the file of
// --workloads-config leaves it out.
func (l *livingFlags) endsNamespaces() bool {
	if l.config == "" {
		return true
	}
	data, err := manifests.ReadFile(l.config)
	if err != nil {
		return true // the option returns the error
	}
	config, err := living.ReadFile(l.config, data)
	if err != nil || config.Controllers == nil {
		return true
	}
	name := string(fakecluster.NamespaceController)
	return !slices.Contains(config.Controllers, "-"+name) && (slices.Contains(config.Controllers, "*") || slices.Contains(config.Controllers, name))
}

// live runs workloads in a cluster. end ends them, and prints their errors.
func live(c *fakecluster.Cluster, options []workloads.Option, stderr io.Writer) (end func(), err error) {
	notices := workloads.Notices(func(sentence string) { fmt.Fprintln(stderr, "fakecluster: serve:", printable.Text(sentence)) })
	w, err := workloads.New(c, append(slices.Clone(options), notices)...)
	if err != nil {
		return nil, fmt.Errorf("workloads: %w", err)
	}
	return func() {
		if err := w.Close(); err != nil {
			fmt.Fprintln(stderr, "fakecluster: serve: workloads:", printable.Text(err.Error()))
		}
	}, nil
}
