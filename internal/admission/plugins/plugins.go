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

// plugins judge the writes of one cluster. They are safe for concurrent use.
type plugins struct {
	all  []*plugin
	made func() (made, error)
}

// made are plugins that have been made.
type made struct {
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

// judges tells whether the plugin judges the objects of a resource; nil: it is not served any more.
func (p *plugin) judges(r *resource.Resource) bool {
	switch {
	case p.every:
		return true
	case r == nil || !r.JudgedInTree:
		return false
	}
	return p.of == nil || slices.Contains(p.of, r.GroupResource())
}

func (m mutating) admit(ctx context.Context, w *admission.Write) error {
	if w.Explained == nil {
		return m.Admit(ctx, w, w)
	}
	return w.Explain(inspect.Plugin, admission.Mutating, m.name, func() error { return m.Admit(ctx, w, w) })
}

func (v validating) validate(ctx context.Context, w *admission.Write) error {
	if w.Explained == nil {
		return v.Validate(ctx, w, w)
	}
	return w.Explain(inspect.Plugin, admission.Validating, v.name, func() error { return v.Validate(ctx, w, w) })
}

// newPlugins returns the plugins for a cluster. They are made when the first write needs
// them.
func newPlugins(all []*plugin, config Configuration, cluster Cluster) *plugins {
	return &plugins{all: all, made: sync.OnceValues(func() (made, error) { return makePlugins(all, config, cluster) })}
}

func makePlugins(all []*plugin, config Configuration, cluster Cluster) (made, error) {
	registered := upstream.NewPlugins()
	start := initializer{cluster}
	var out made
	for _, p := range all {
		p.register(registered)
		from, err := config.of(p.name)
		if err != nil {
			return made{}, err
		}
		plugin, err := registered.InitPlugin(p.name, from, start)
		if err != nil {
			return made{}, err
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

// Judges implements admission.InTree.
func (p *plugins) Judges(r *resource.Resource) bool {
	return slices.ContainsFunc(p.all, func(p *plugin) bool { return p.judges(r) })
}

// Mutate implements admission.Plugin.
func (p *plugins) Mutate(ctx context.Context, w *admission.Write) error {
	all, err := p.made()
	if err != nil {
		return err
	}
	of := w.Resource()
	for _, m := range all.mutating {
		if !m.judges(of) || !m.Handles(w.GetOperation()) {
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
	all, err := p.made()
	if err != nil {
		return err
	}
	of := w.Resource()
	for _, v := range all.validating {
		if !v.judges(of) || !v.Handles(w.GetOperation()) {
			continue
		}
		if err := v.validate(ctx, w); err != nil {
			return err
		}
	}
	return nil
}
