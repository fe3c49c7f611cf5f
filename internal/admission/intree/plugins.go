package intree

import (
	"context"
	"fmt"
	"slices"
	"sync"

	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	certapproval "k8s.io/kubernetes/plugin/pkg/admission/certificates/approval"
	"k8s.io/kubernetes/plugin/pkg/admission/certificates/ctbattest"
	certsigning "k8s.io/kubernetes/plugin/pkg/admission/certificates/signing"
	certsubjectrestriction "k8s.io/kubernetes/plugin/pkg/admission/certificates/subjectrestriction"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/network/defaultingressclass"
	"k8s.io/kubernetes/plugin/pkg/admission/nodedeclaredfeatures"
	"k8s.io/kubernetes/plugin/pkg/admission/nodetaint"
	"k8s.io/kubernetes/plugin/pkg/admission/podresize"
	"k8s.io/kubernetes/plugin/pkg/admission/podtopologylabels"
	podpriority "k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"k8s.io/kubernetes/plugin/pkg/admission/scheduling/podgroupprotection"
	"k8s.io/kubernetes/plugin/pkg/admission/security/podsecurity"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/persistentvolume/resize"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageclass/setdefault"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageobjectinuseprotection"

	"github.com/fakecluster/fakecluster/internal/admission"
)

// plugin is one of kube-apiserver's.
type plugin struct {
	name     string
	register func(*upstream.Plugins)
	state    state
}

type state int

const (
	here      state = iota // made and asked by this package
	elsewhere              // another package does what it does
	apart                  // so it is, and that package asks whether it is on
	missing                // fakecluster has no such plugin
)

// ordered are the plugins that are on by default on a real server, in its order.
var ordered = []plugin{
	{name: lifecycle.PluginName, state: elsewhere},
	{name: limitranger.PluginName, register: limitranger.Register},
	{name: "ServiceAccount", state: missing},
	{name: nodetaint.PluginName, register: nodetaint.Register},
	{name: podsecurity.PluginName, register: podsecurity.Register},
	{name: podpriority.PluginName, register: podpriority.Register},
	{name: defaulttolerationseconds.PluginName, register: defaulttolerationseconds.Register},
	{name: setdefault.PluginName, register: setdefault.Register},
	{name: storageobjectinuseprotection.PluginName, register: storageobjectinuseprotection.Register},
	{name: podgroupprotection.PluginName, register: podgroupprotection.Register},
	{name: resize.PluginName, register: resize.Register},
	{name: runtimeclass.PluginName, register: runtimeclass.Register},
	{name: certapproval.PluginName, register: certapproval.Register},
	{name: certsigning.PluginName, register: certsigning.Register},
	{name: ctbattest.PluginName, register: ctbattest.Register},
	{name: certsubjectrestriction.PluginName, register: certsubjectrestriction.Register},
	{name: defaultingressclass.PluginName, register: defaultingressclass.Register},
	{name: podtopologylabels.PluginName, register: podtopologylabels.Register},
	{name: nodedeclaredfeatures.PluginName, register: nodedeclaredfeatures.Register},
	{name: podresize.PluginName, register: podresize.Register},
	{name: mutatingpolicy.PluginName, state: elsewhere},
	{name: mutatingwebhook.PluginName, state: elsewhere},
	{name: validatingpolicy.PluginName, state: elsewhere},
	{name: validatingwebhook.PluginName, state: elsewhere},
	{name: resourcequota.PluginName, state: apart},
}

// Choice says which plugins are off. Nil: none of those that a real server has by default
// and fakecluster has, too.
type Choice map[string]bool

// NewChoice turns plugins off by their names, as kube-apiserver's flag
// --disable-admission-plugins does.
func NewChoice(disable []string) (Choice, error) {
	c := Choice{}
	for _, name := range disable {
		i := slices.IndexFunc(ordered, func(p plugin) bool { return p.name == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("disable-admission-plugins plugin %q is unknown", name)
		case ordered[i].state == elsewhere:
			return nil, fmt.Errorf("fakecluster cannot turn the admission plugin %s off", name)
		}
		c[name] = true
	}
	return c, nil
}

// Plugins judge the writes of one cluster. They are safe for concurrent use.
type Plugins struct {
	made func() (made, error)
}

// made are plugins that have been made.
type made struct {
	mutating   []upstream.MutationInterface
	validating []upstream.ValidationInterface
}

// New are the plugins of a choice for a cluster.
func New(c Choice, cluster admission.Cluster) *Plugins {
	return &Plugins{made: sync.OnceValues(func() (made, error) { return newMade(c, cluster) })}
}

func newMade(c Choice, cluster admission.Cluster) (made, error) {
	registered := upstream.NewPlugins()
	start := initializer{cluster}
	var out made
	for _, p := range ordered {
		if p.state != here || c[p.name] {
			continue
		}
		p.register(registered)
		plugin, err := registered.InitPlugin(p.name, nil, start)
		if err != nil {
			return made{}, err
		}
		if m, ok := plugin.(upstream.MutationInterface); ok {
			out.mutating = append(out.mutating, m)
		}
		if v, ok := plugin.(upstream.ValidationInterface); ok {
			out.validating = append(out.validating, v)
		}
	}
	return out, nil
}

// Mutate implements admission.Plugin.
func (p *Plugins) Mutate(ctx context.Context, w *admission.Write) error {
	all, err := p.made()
	if err != nil {
		return err
	}
	for _, m := range all.mutating {
		if !m.Handles(w.GetOperation()) {
			continue
		}
		if err := m.Admit(ctx, w, w); err != nil {
			return err
		}
	}
	return nil
}

// Validate implements admission.Plugin.
func (p *Plugins) Validate(ctx context.Context, w *admission.Write) error {
	all, err := p.made()
	if err != nil {
		return err
	}
	for _, v := range all.validating {
		if !v.Handles(w.GetOperation()) {
			continue
		}
		if err := v.Validate(ctx, w, w); err != nil {
			return err
		}
	}
	return nil
}
