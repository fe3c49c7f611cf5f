package rest

import (
	"errors"
	"fmt"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/admission/policy"
	"github.com/fakecluster/fakecluster/internal/admission/webhook"
	"github.com/fakecluster/fakecluster/store"
)

// admissionGroup is the group of the kinds that configure admission.
const admissionGroup = "admissionregistration.k8s.io"

// refreshChain brings admission up to date with its configuration in the store.
// Whoever has read the newest wins; nobody waits.
func (s *Server) refreshChain() error {
	for {
		was := s.chain.Load()
		is, err := s.compileChain(was)
		var compacted *store.CompactedError
		if errors.As(err, &compacted) {
			continue // others write faster than the history is long
		}
		if err != nil || is == nil {
			return err
		}
		if s.chain.CompareAndSwap(was, is) {
			return nil
		}
	}
}

// compileChain is the chain of what is stored now; nil if the former one is that.
func (s *Server) compileChain(was *admission.Chain) (*admission.Chain, error) {
	revision := s.store.Revision()
	if revision <= was.Revision {
		return nil, nil
	}
	configured := map[string][]store.Record{}
	for _, res := range s.builtin {
		if res.Group != admissionGroup {
			continue
		}
		list, err := s.store.List(res.Prefix, store.ListOptions{Revision: revision})
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", res.Names.Plural, err)
		}
		configured[res.Names.Plural] = list.Records
	}
	is := &admission.Chain{Revision: revision, Functions: was.Functions}
	var err error
	is.Policies, err = policy.New(was.Policies,
		configured["validatingadmissionpolicies"], configured["validatingadmissionpolicybindings"],
		configured["mutatingadmissionpolicies"], configured["mutatingadmissionpolicybindings"])
	if err != nil {
		return nil, err
	}
	is.Webhooks, err = webhook.New(was.Webhooks, configured["mutatingwebhookconfigurations"], configured["validatingwebhookconfigurations"])
	return is, err
}

// inheritChain has a fork begin with the chain of the server it was forked from.
// What that has compiled is good for the records that the fork has, too.
func (s *Server) inheritChain(from *admission.Chain) error {
	inherited := *from
	inherited.Revision = 0
	s.chain.Store(&inherited)
	return s.refreshChain()
}
