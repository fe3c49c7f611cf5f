package plugins

import (
	"context"
	"slices"
	"sync"

	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// plugins admit the writes of one cluster. They are safe for concurrent use.
type plugins struct {
	enabled   []*plugin
	instances func() (instances, error)
}

// instances are the plugins of a cluster, by phase.
type instances struct {
	mutating   []mutating
	validating []validating
}

type mutating struct {
	upstream.MutationInterface
	*plugin
}

type validating struct {
	upstream.ValidationInterface
	*plugin
}

// appliesTo reports whether the plugin applies to the objects of a resource; nil: it is no longer
// served.
func (p *plugin) appliesTo(r *resource.Resource) bool {
	switch {
	case p.allKinds:
		return true
	case r == nil || !r.InTreeAdmission:
		return false
	}
	return p.resources == nil || slices.Contains(p.resources, r.GroupResource())
}

func (m mutating) admit(ctx context.Context, w *admission.Write) error {
	return w.Explain(inspect.Plugin, admission.Mutating, m.name, func() error { return m.Admit(ctx, w, w) })
}

func (v validating) validate(ctx context.Context, w *admission.Write) error {
	return w.Explain(inspect.Plugin, admission.Validating, v.name, func() error { return v.Validate(ctx, w, w) })
}

// newPlugins returns the plugins for a cluster. They are created when the first write needs them.
func newPlugins(enabled []*plugin, config Configuration, cluster Cluster) *plugins {
	return &plugins{enabled: enabled, instances: sync.OnceValues(func() (instances, error) { return newInstances(enabled, config, cluster) })}
}

func newInstances(enabled []*plugin, config Configuration, cluster Cluster) (instances, error) {
	registered := upstream.NewPlugins()
	start := initializer{cluster}
	var out instances
	for _, p := range enabled {
		p.register(registered)
		from, err := config.reader(p.name)
		if err != nil {
			return instances{}, err
		}
		plugin, err := registered.InitPlugin(p.name, from, start)
		if err != nil {
			return instances{}, err
		}
		if accounts, ok := plugin.(*serviceaccount.Plugin); ok {
			plugin = accountPlugin{accounts, cluster.GenerateName}
		}
		if m, ok := plugin.(upstream.MutationInterface); ok {
			out.mutating = append(out.mutating, mutating{m, p})
		}
		if v, ok := plugin.(upstream.ValidationInterface); ok {
			out.validating = append(out.validating, validating{v, p})
		}
	}
	return out, nil
}

// AppliesTo implements admission.InTree.
func (p *plugins) AppliesTo(r *resource.Resource) bool {
	return slices.ContainsFunc(p.enabled, func(p *plugin) bool { return p.appliesTo(r) })
}

// Mutate implements admission.Plugin.
func (p *plugins) Mutate(ctx context.Context, w *admission.Write) error {
	created, err := p.instances()
	if err != nil {
		return err
	}
	r := w.Resource()
	for _, m := range created.mutating {
		if !m.appliesTo(r) || !m.Handles(w.GetOperation()) {
			continue
		}
		if err := m.admit(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// Validate implements admission.Plugin.
func (p *plugins) Validate(ctx context.Context, w *admission.Write) error {
	created, err := p.instances()
	if err != nil {
		return err
	}
	r := w.Resource()
	for _, v := range created.validating {
		if !v.appliesTo(r) || !v.Handles(w.GetOperation()) {
			continue
		}
		if err := v.validate(ctx, w); err != nil {
			return err
		}
	}
	return nil
}
