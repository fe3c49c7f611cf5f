package rest

import (
	"context"

	"github.com/fakecluster/fakecluster/store"
)

// Fork makes a server over a fork of this one's store. The two share records and compiled
// definitions. What these say never changes, and what they remember follows from their content
// (see packages resource and crd), so neither server can tell that the other one exists.
//
// If this server has not completed something, such as establishing a definition, the fork
// completes it for itself.
func (s *Server) Fork(forked *store.Store, services Services) (*Server, error) {
	options := s.options
	options.Services = services
	f, err := assemble(forked, options, s.builtin, s.writes.Random.Fork(), s.tokens, s.rules, s.history.Fork(forked.Revision(), forked.Oldest))
	if err != nil {
		return nil, err
	}
	// The catalogue may be ahead of the fork, or behind it. What it has compiled
	// is good for the records that the fork has, too.
	shared := s.catalogue.Load().Definitions("*")
	for i, d := range shared {
		if d.Resource != nil && d.Resource.CallsOut {
			// It is compiled anew, and only the beginning of its history is taken over.
			stale := *d
			stale.Record.Revision = 0
			shared[i] = &stale
		}
	}
	f.catalogue.inherit(shared)
	if err := f.catalogue.refresh(); err != nil {
		return nil, err
	}
	if err := f.chain.inherit(s.chain.Load()); err != nil {
		return nil, err
	}
	if err := f.aggregate.Refresh(); err != nil {
		return nil, err
	}
	f.reactor.Inherit(s.reactor, forked.Revision())
	return f, f.reactor.Resume(context.Background(), forked.Revision())
}
