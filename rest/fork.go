package rest

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Fork makes a server over a fork of this one's store. The two share what is
// immutable, the compiled definitions above all, and nothing else.
//
// What this one was in the middle of, such as to establish a definition, the
// fork brings to its end for itself.
func (s *Server) Fork(forked *store.Store, services webhook.ServiceResolver) (*Server, error) {
	options := s.options
	options.Services = services
	f := assemble(forked, options, s.builtin, s.writes.Random.Fork())
	// The catalogue may be ahead of the fork, or behind it. What it has compiled
	// is good for the records that the fork has, too.
	shared := slices.DeleteFunc(s.catalogue.Load().Definitions("*"), func(d *resource.Definition) bool {
		return d.Resource != nil && d.Resource.CallsOut
	})
	f.catalogue.inherit(shared)
	if err := f.catalogue.refresh(); err != nil {
		return nil, err
	}
	if err := f.chain.inherit(s.chain.Load()); err != nil {
		return nil, err
	}
	f.reactor.Inherit(s.reactor, forked.Revision())
	return f, f.reactor.Resume(context.Background(), forked.Revision())
}
