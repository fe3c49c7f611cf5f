package plugins

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"

	"github.com/fakecluster/fakecluster/internal/admission"
)

// Options has the plugins that are on, and their configuration.
type Options struct {
	// on has the plugins that were turned on or off by name. Others have the default of a real server.
	on     map[string]bool
	config Configuration
}

// NewOptions turns plugins on and off by their names, as kube-apiserver's flags --enable-admission-plugins and
// --disable-admission-plugins do. It fails with the errors of a real server.
func NewOptions(enable, disable []string, config Configuration) (Options, error) {
	o := Options{map[string]bool{}, config}
	var errs []error
	for _, name := range enable {
		if find(name) == nil {
			errs = append(errs, fmt.Errorf("enable-admission-plugins plugin %q is unknown", name))
		}
		o.on[name] = true
	}
	var both []string
	for _, name := range disable {
		if find(name) == nil {
			errs = append(errs, fmt.Errorf("disable-admission-plugins plugin %q is unknown", name))
		}
		if o.on[name] {
			both = append(both, name)
			continue
		}
		o.on[name] = false
	}
	if len(both) > 0 {
		slices.Sort(both)
		errs = append(errs, fmt.Errorf("%v in enable-admission-plugins and disable-admission-plugins overlapped", slices.Compact(both)))
	}
	return o, errors.Join(errs...)
}

// find returns the plugin with a name; nil: a real server does not have it.
func find(name string) *plugin {
	i := slices.IndexFunc(ordered, func(p plugin) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &ordered[i]
}

// OffByDefault returns the options with a plugin turned off, unless it was turned on or off by name.
func (o Options) OffByDefault(name string) Options {
	if _, set := o.on[name]; !set {
		o.on = maps.Clone(o.on)
		o.on[name] = false
	}
	return o
}

func (o Options) isOn(p *plugin) bool {
	if on, set := o.on[p.name]; set {
		return on
	}
	return !p.offByDefault
}

func (o Options) isOff(name string) bool { return !o.isOn(find(name)) }

// NamespaceLifecycle reports whether the plugin of this name is on.
func (o Options) NamespaceLifecycle() bool { return !o.isOff(lifecycle.PluginName) }

// ResourceQuota reports whether the plugin of this name is on.
func (o Options) ResourceQuota() bool { return !o.isOff(resourcequota.PluginName) }

// Configuration returns the configuration of the plugins.
func (o Options) Configuration() Configuration { return o.config }

// Chain returns the chain of a cluster without policies, webhooks and functions. It fails if a
// plugin rejects its configuration.
func (o Options) Chain(cluster Cluster) (admission.Chain, error) {
	var chain admission.Chain
	for where, into := range map[place]*admission.InTree{first: &chain.First, inTree: &chain.InTree, last: &chain.Last} {
		p, err := o.pluginsIn(where, cluster)
		if err != nil {
			return chain, err
		}
		if p != nil {
			*into = p
		}
	}
	chain.Off.Mutating = admission.Off{Policies: o.isOff(mutatingpolicy.PluginName), Webhooks: o.isOff(mutatingwebhook.PluginName)}
	chain.Off.Validating = admission.Off{Policies: o.isOff(validatingpolicy.PluginName), Webhooks: o.isOff(validatingwebhook.PluginName)}
	return chain, nil
}

// pluginsIn returns the plugins of a place that are on; nil: none is. If there is a configuration, or one of them needs
// one, it creates them at once, so that errors are reported at the start.
func (o Options) pluginsIn(where place, cluster Cluster) (*plugins, error) {
	var on []*plugin
	configured := o.config.plugins != nil
	for i := range ordered {
		if p := &ordered[i]; p.place == where && o.isOn(p) {
			on = append(on, p)
			configured = configured || p.needsConfiguration
		}
	}
	if len(on) == 0 {
		return nil, nil
	}
	created := newPlugins(on, o.config, cluster)
	if !configured {
		return created, nil
	}
	_, err := created.instances()
	return created, err
}

// Names returns the names of all plugins of a real server, in its order.
func Names() []string {
	var names []string
	for _, p := range ordered {
		names = append(names, p.name)
	}
	return names
}
