package intree

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"

	"github.com/fakecluster/fakecluster/internal/admission"
)

// Choice says of some plugins whether they are on. The others are on if a real server has them
// on by default and fakecluster has them, too.
type Choice map[string]bool

// NewChoice turns plugins on and off by their names, as kube-apiserver's flags
// --enable-admission-plugins and --disable-admission-plugins do. It fails in the words of a real
// server, and for a plugin that fakecluster cannot turn on.
func NewChoice(enable, disable []string) (Choice, error) {
	c := Choice{}
	var errs []error
	for _, name := range enable {
		switch p := find(name); {
		case p == nil:
			errs = append(errs, fmt.Errorf("enable-admission-plugins plugin %q is unknown", name))
		case p.place == configured:
			errs = append(errs, fmt.Errorf("fakecluster does not have the admission plugin %s, which needs a configuration file", name))
		}
		c[name] = true
	}
	var both []string
	for _, name := range disable {
		if find(name) == nil {
			errs = append(errs, fmt.Errorf("disable-admission-plugins plugin %q is unknown", name))
		}
		if c[name] {
			both = append(both, name)
			continue
		}
		c[name] = false
	}
	if len(both) > 0 {
		slices.Sort(both)
		errs = append(errs, fmt.Errorf("%v in enable-admission-plugins and disable-admission-plugins overlapped", slices.Compact(both)))
	}
	return c, errors.Join(errs...)
}

// find returns the plugin of a name, or nil if a real server does not have it.
func find(name string) *plugin {
	i := slices.IndexFunc(ordered, func(p plugin) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &ordered[i]
}

// OffByDefault turns a plugin off unless it was turned on or off by name.
func (c Choice) OffByDefault(name string) {
	if _, said := c[name]; !said {
		c[name] = false
	}
}

func (c Choice) isOn(p *plugin) bool {
	if on, said := c[p.name]; said {
		return on
	}
	return !p.off
}

func (c Choice) isOff(name string) bool { return !c.isOn(find(name)) }

// NamespaceLifecycle tells whether the plugin of this name is on.
func (c Choice) NamespaceLifecycle() bool { return !c.isOff(lifecycle.PluginName) }

// ResourceQuota tells whether the plugin of this name is on.
func (c Choice) ResourceQuota() bool { return !c.isOff(resourcequota.PluginName) }

// Chain makes the chain of a cluster without policies, webhooks and functions.
func (c Choice) Chain(cluster Cluster) admission.Chain {
	var chain admission.Chain
	if p := c.at(first, cluster); p != nil {
		chain.First = p
	}
	if p := c.at(inTree, cluster); p != nil {
		chain.InTree = p
	}
	if p := c.at(last, cluster); p != nil {
		chain.Last = p
	}
	chain.Off.Mutating = admission.Off{Policies: c.isOff(mutatingpolicy.PluginName), Webhooks: c.isOff(mutatingwebhook.PluginName)}
	chain.Off.Validating = admission.Off{Policies: c.isOff(validatingpolicy.PluginName), Webhooks: c.isOff(validatingwebhook.PluginName)}
	return chain
}

// at returns the plugins of a place that are on, or nil if none is.
func (c Choice) at(where place, cluster Cluster) *plugins {
	var on []*plugin
	for i := range ordered {
		if p := &ordered[i]; p.place == where && c.isOn(p) {
			on = append(on, p)
		}
	}
	if len(on) == 0 {
		return nil
	}
	return newPlugins(on, cluster)
}

// Names returns the names of all plugins of a real server, in its order.
func Names() []string {
	var all []string
	for _, p := range ordered {
		all = append(all, p.name)
	}
	return all
}
