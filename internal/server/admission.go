package server

import (
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/admission/policy"
	"github.com/fakecluster/fakecluster/internal/admission/webhook"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// admissionChain has the admission chain of a server: the compiled-in plugins, the policies and webhooks in the store,
// and functions. Call install before anything else.
type admissionChain struct {
	store   *store.Store
	builtin []*resource.Resource
	inTree  atomic.Pointer[admission.Chain] // set by install

	current atomic.Pointer[admission.Chain]
}

// Load returns the current chain.
func (c *admissionChain) Load() *admission.Chain { return c.current.Load() }

// install replaces the compiled-in plugins. Requests in flight keep their chain.
func (c *admissionChain) install(inTree admission.Chain) {
	c.inTree.Store(&inTree)
	for {
		former := c.Load()
		copied := inTree
		if former != nil {
			copied.Functions, copied.Policies, copied.Webhooks, copied.Revision = former.Functions, former.Policies, former.Webhooks, former.Revision
		}
		if c.current.CompareAndSwap(former, &copied) {
			return
		}
	}
}

// call adds functions to the chain. It must not run concurrently with refresh.
func (c *admissionChain) call(functions admission.Plugin) {
	chain := *c.Load()
	chain.Functions = functions
	c.current.Store(&chain)
}

// refresh brings the chain up to date with the configuration in the store. If several goroutines call it, the newest
// configuration wins, and none of them waits.
func (c *admissionChain) refresh() error {
	for {
		former := c.Load()
		next, err := c.compile(former)
		var compacted *store.CompactedError
		if errors.As(err, &compacted) {
			continue // the revision was compacted meanwhile
		}
		if err != nil || next == nil {
			return err
		}
		if c.current.CompareAndSwap(former, next) {
			return nil
		}
	}
}

// compile returns the chain for the current configuration, or nil if that has not changed.
func (c *admissionChain) compile(former *admission.Chain) (*admission.Chain, error) {
	revision := c.store.Revision()
	if revision <= former.Revision {
		return nil, nil
	}
	configured := map[string][]store.Record{}
	for _, res := range c.builtin {
		if !res.ConfiguresAdmission {
			continue
		}
		list, err := c.store.List(res.Prefix, store.ListOptions{Revision: revision})
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", res.Names.Plural, err)
		}
		configured[res.Names.Plural] = list.Records
	}
	if !utilfeature.DefaultFeatureGate.Enabled(features.MutatingAdmissionPolicy) { // an older release is emulated
		delete(configured, "mutatingadmissionpolicies")
	}
	next := c.with(former)
	next.Revision = revision
	var err error
	next.Policies, err = policy.New(former.Policies,
		configured["validatingadmissionpolicies"], configured["validatingadmissionpolicybindings"],
		configured["mutatingadmissionpolicies"], configured["mutatingadmissionpolicybindings"])
	if err != nil {
		return nil, err
	}
	next.Webhooks, err = webhook.New(former.Webhooks, configured["mutatingwebhookconfigurations"], configured["validatingwebhookconfigurations"])
	return next, err
}

// inherit starts a fork with the chain of its origin. The compiled policies are valid for the records of the fork, too.
func (c *admissionChain) inherit(from *admission.Chain) error {
	inherited := c.with(from)
	inherited.Policies, inherited.Webhooks = from.Policies, from.Webhooks
	c.current.Store(inherited)
	return c.refresh()
}

// with returns a chain with the compiled-in plugins and the functions of base.
func (c *admissionChain) with(base *admission.Chain) *admission.Chain {
	chain := *c.inTree.Load()
	chain.Functions = base.Functions
	return &chain
}
