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

// admissionChain has the admission chain of a server: the plugins that are compiled in,
// what is configured in the store, and functions. It is of no use before install.
type admissionChain struct {
	store   *store.Store
	builtin []*resource.Resource
	inTree  atomic.Pointer[admission.Chain] // that of install

	current atomic.Pointer[admission.Chain]
}

// Load returns the present chain.
func (c *admissionChain) Load() *admission.Chain { return c.current.Load() }

// install has the plugins of a chain act in place of those that are compiled in and act now. Requests that have begun keep their
// chain.
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

// call adds functions to the chain. It must not run at the same time as refresh.
func (c *admissionChain) call(functions admission.Plugin) {
	chain := *c.Load()
	chain.Functions = functions
	c.current.Store(&chain)
}

// refresh brings the chain up to date with its configuration in the store. If several
// goroutines call it at once, the newest configuration wins, and none of them waits.
func (c *admissionChain) refresh() error {
	for {
		former := c.Load()
		next, err := c.compile(former)
		var compacted *store.CompactedError
		if errors.As(err, &compacted) {
			continue // others write faster than the history is long
		}
		if err != nil || next == nil {
			return err
		}
		if c.current.CompareAndSwap(former, next) {
			return nil
		}
	}
}

// compile makes the chain of the present configuration, or returns nil if that has not
// changed.
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
	if !utilfeature.DefaultFeatureGate.Enabled(features.MutatingAdmissionPolicy) { // of an older version
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

// inherit gives a fork the chain of the server that it was forked from. The compiled
// policies are valid for the records of the fork, too.
func (c *admissionChain) inherit(from *admission.Chain) error {
	inherited := c.with(from)
	inherited.Policies, inherited.Webhooks = from.Policies, from.Webhooks
	c.current.Store(inherited)
	return c.refresh()
}

// with makes a chain of the plugins that are compiled in and of the functions of another
// chain.
func (c *admissionChain) with(base *admission.Chain) *admission.Chain {
	chain := *c.inTree.Load()
	chain.Functions = base.Functions
	return &chain
}
