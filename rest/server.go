package rest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// Options of a Server.
type Options struct {
	// Token is what clients have to bear. It must not be empty.
	Token string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Seed makes uids and generated names repeat; nil means random ones.
	Seed *uint64
	// Services tells where the services are that webhooks are referred to by.
	Services webhook.ServiceResolver
	// WithoutNamespaceLifecycle lets objects be written into namespaces that do
	// not exist or are being deleted.
	WithoutNamespaceLifecycle bool
	// AuditLevel is how much the audit trail tells; empty: there is none.
	AuditLevel auditinternal.Level
	// Admission is asked about each write after what the cluster has configured,
	// but for the first namespaces; nil: nobody.
	Admission admission.Plugin
	// LegacyAPIs serves versions that a server of this release no longer does, as
	// the last ones that had them did.
	LegacyAPIs bool
	// GarbageCollection deletes objects whose owners are gone, and finishes
	// deletions in the foreground and those that orphan, as kube-controller-manager
	// does on a real cluster. The API server alone leaves that to others.
	GarbageCollection bool
}

// Server is an http.Handler that serves the Kubernetes API over a store. It is
// safe for concurrent use.
type Server struct {
	handler   http.Handler // the filters and what is behind them
	options   Options
	store     *store.Store
	catalogue atomic.Pointer[resource.Catalogue]
	chain     atomic.Pointer[admission.Chain]
	reactor   *lifecycle.Reactor
	writes    *write.Pipeline
	memory    *resource.Memory
	frames    view.Frames
	trail     *trail // nil: nobody keeps one
	hooks     *hooks
	seen      sync.Map // of seenNamespace, by name

	builtin     []*resource.Resource
	namespaces  *resource.Resource // among builtin
	definitions *resource.Resource // among builtin

	// closing ends when the server closes, and with it every watch.
	closing context.Context
	close   context.CancelFunc
}

// New makes a server over a store that New fills with what every cluster has
// from its start, unless it is there already. Close ends it; the store stays the
// caller's.
func New(s *store.Store, o Options) (*Server, error) {
	if o.Token == "" {
		return nil, fmt.Errorf("a server needs a token")
	}
	server := newServer(s, o)
	server.namespaces, server.definitions = builtin.Namespaces(), crd.Definitions(o.LegacyAPIs)
	server.writes = server.newPipeline(write.NewRandom(o.Seed))
	server.handler = server.newHandler()
	// The order of the groups is that of discovery.
	server.builtin = append([]*resource.Resource{server.namespaces, server.definitions}, builtin.Resources(o.LegacyAPIs)...)
	server.builtin = append(server.builtin, builtin.Reviews()...)
	server.catalogue.Store(resource.NewCatalogue(0, server.builtin, nil))
	if err := server.refresh(); err != nil {
		return nil, err
	}
	if err := server.createInitialNamespaces(); err != nil {
		return nil, err
	}
	// Nobody is asked before that: the webhooks of a store that is not new may be
	// out of reach.
	if err := server.refreshChain(); err != nil {
		return nil, err
	}
	chain := *server.chain.Load()
	chain.Functions = o.Admission
	server.chain.Store(&chain)
	return server, nil
}

func newServer(s *store.Store, o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	server := &Server{
		options: o,
		store:   s,
		memory:  resource.NewMemory(),
		hooks:   newHooks(o.Services),
		trail:   newTrail(o.AuditLevel),
	}
	server.chain.Store(&admission.Chain{})
	server.closing, server.close = context.WithCancel(context.Background())
	server.reactor = lifecycle.NewReactor(reactions{server}, o.GarbageCollection)
	return server
}

// newHandler is what serves the requests: the filters, and what is behind them.
func (s *Server) newHandler() http.Handler {
	return behind(s.filters(), paths{
		resources: resources{s.store, s.writes, s.catalogue.Load, s.verbs(), s.subresourceVerbs()},
		catalogue: s.catalogue.Load,
		openAPI:   &openAPI{},
	})
}

// newPipeline is what carries out the server's writes.
func (s *Server) newPipeline(random *write.Random) *write.Pipeline {
	return &write.Pipeline{
		Store: s.store, Memory: s.memory, Now: s.now, Random: random,
		Namespaces: s.namespaces, WithoutNamespaceLifecycle: s.options.WithoutNamespaceLifecycle,
		Catalogue: reactions{s}.Catalogue, Chain: s.chain.Load, Cluster: cluster{s}, Reactor: aftermath{s},
	}
}

// now is the time that objects are stamped with.
func (s *Server) now() metav1.Time { return metav1.NewTime(s.options.Now()) }

// formatRevision is a revision as a resourceVersion.
func formatRevision(revision int64) string { return strconv.FormatInt(revision, 10) }

// Close ends all watches and refuses further requests. It does not wait for
// those in flight: they end with the connection or transport that carries them.
func (s *Server) Close() {
	s.close()
	s.hooks.close()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) { s.handler.ServeHTTP(w, req) }
