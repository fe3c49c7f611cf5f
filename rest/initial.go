package rest

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// createInitialNamespaces makes the namespaces that every cluster has.
func (s *Server) createInitialNamespaces() error {
	for _, name := range builtin.NamespaceNames {
		ctx, w := reactions{s}.write(context.Background(), apiServer, s.namespaces, "", name)
		w.Change = write.Create{Managed: true, Object: func(*resource.Version) (runtime.Object, error) {
			return builtin.InitialNamespace(name, w.Manager, s.now()), nil
		}}
		if _, err := s.writes.Run(ctx, w); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// Fork makes a server over a fork of this one's store. The two share what is
// immutable, the compiled definitions above all, and nothing else.
//
// What this one was in the middle of, such as to establish a definition, the
// fork brings to its end for itself.
func (s *Server) Fork(forked *store.Store, services webhook.ServiceResolver) (*Server, error) {
	options := s.options
	options.Services = services
	f := newServer(forked, options)
	f.builtin, f.namespaces, f.definitions = s.builtin, s.namespaces, s.definitions
	f.writes = f.newPipeline(s.writes.Random.Fork())
	f.handler = f.newHandler()
	// The catalogue may be ahead of the fork, or behind it. What it has compiled
	// is good for the records that the fork has, too.
	shared := slices.DeleteFunc(s.catalogue.Load().Definitions("*"), func(d *resource.Definition) bool {
		return d.Resource != nil && d.Resource.CallsOut
	})
	f.catalogue.Store(resource.NewCatalogue(0, f.builtin, shared))
	if err := f.refresh(); err != nil {
		return nil, err
	}
	if err := f.inheritChain(s.chain.Load()); err != nil {
		return nil, err
	}
	f.reactor.Inherit(s.reactor, forked.Revision())
	return f, f.reactor.Resume(context.Background(), forked.Revision())
}
