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
// and functions.
type admissionChain struct {
	store   *store.Store
	builtin []*resource.Resource

	current atomic.Pointer[admission.Chain]
}

// newAdmissionChain returns a chain that begins with another one. Its compiled-in plugins write through the pipeline,
// which calls the chain: install adds them.
func newAdmissionChain(s *store.Store, builtin []*resource.Resource, chain *admission.Chain) *admissionChain {
	c := &admissionChain{store: s, builtin: builtin}
	c.current.Store(chain)
	return c
}

// Load returns the current chain.
func (c *admissionChain) Load() *admission.Chain { return c.current.Load() }

// change replaces the chain by a changed copy. Requests in flight keep their chain.
func (c *admissionChain) change(change func(*admission.Chain)) {
	for {
		former := c.Load()
		changed := *former
		change(&changed)
		if c.current.CompareAndSwap(former, &changed) {
			return
		}
	}
}

// install replaces the compiled-in plugins.
func (c *admissionChain) install(inTree admission.Chain) {
	c.change(func(chain *admission.Chain) {
		chain.First, chain.InTree, chain.Last, chain.Off = inTree.First, inTree.InTree, inTree.Last, inTree.Off
	})
}

// call adds functions to the chain.
func (c *admissionChain) call(functions admission.Plugin) {
	c.change(func(chain *admission.Chain) { chain.Functions = functions })
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
	next := *former
	next.Revision = revision
	var err error
	next.Policies, err = policy.New(former.Policies,
		configured["validatingadmissionpolicies"], configured["validatingadmissionpolicybindings"],
		configured["mutatingadmissionpolicies"], configured["mutatingadmissionpolicybindings"])
	if err != nil {
		return nil, err
	}
	next.Webhooks, err = webhook.New(former.Webhooks, configured["mutatingwebhookconfigurations"], configured["validatingwebhookconfigurations"])
	return &next, err
}

// forFork returns the chain that a fork begins with. The compiled policies are valid for the records of the fork, too.
func (c *admissionChain) forFork() *admission.Chain {
	origin := c.Load()
	return &admission.Chain{Functions: origin.Functions, Policies: origin.Policies, Webhooks: origin.Webhooks}
}
