package rest

import (
	"context"
	"crypto"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/admission/intree"
	"github.com/fakecluster/fakecluster/internal/aggregation"
	"github.com/fakecluster/fakecluster/internal/auth"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/controllers"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/faults"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/lifecycle"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// Options configure a Server. Token must be set; all other fields have useful zero values.
type Options struct {
	// Token is the bearer token of the user who may do everything. Other credentials follow
	// from it. It must not be empty.
	Token string
	// Users are the users that the server knows besides those of its own credentials.
	Users Users
	// AuthenticationInfo is the data that the server adds to the ConfigMap
	// extension-apiserver-authentication in kube-system, by the keys of kube-apiserver, so that
	// servers of aggregated APIs believe whom this one believes; nil: nothing.
	AuthenticationInfo map[string]string
	// Accounts says how tokens of service accounts are issued.
	Accounts Accounts
	// Modes decide what users may do; nil: Roles and their bindings do.
	Modes *Modes
	// Authorizer decides in place of the modes; nil: the modes do.
	Authorizer authorizer.Authorizer
	// Now is the clock that objects and events are stamped with; nil: time.Now.
	Now func() time.Time
	// Seed makes uids and generated names repeat from run to run, if the requests come in
	// the same order; nil: they are random.
	Seed *uint64
	// Services resolves the services that webhooks and APIServices refer to; nil: webhooks
	// can be referred to by URL only.
	Services Services
	// AuditLevel is how much [Server.AuditEvents] tell of each request: Metadata, Request or
	// RequestResponse. Empty or None: there are no events.
	AuditLevel auditinternal.Level
	// AuditLog is a log of requests, as its policy says. With a log, the events of AuditEvents
	// have the level RequestResponse, whatever AuditLevel says, unless AuditLevel is None. Nil:
	// there is no log.
	AuditLog *AuditLog
	// Admission is called for each write after the webhooks and policies of the cluster. It
	// is not called for the initial objects. Nil: nothing is called.
	Admission Admission
	// EnableAdmissionPlugins turns on plugins that are off by default, and
	// DisableAdmissionPlugins turns plugins off, by the names of kube-apiserver's flags
	// --enable-admission-plugins and --disable-admission-plugins.
	EnableAdmissionPlugins, DisableAdmissionPlugins []string
	// AdmissionConfigFile configures plugins, as the file of kube-apiserver's flag
	// --admission-control-config-file does; empty: none.
	AdmissionConfigFile string
	// VerifyMemory makes the server check that nothing alters the decoded objects that it
	// keeps. It is for the tests of fakecluster itself: requests take several times as long.
	VerifyMemory bool
	// LegacyAPIs serves versions that a server of this release no longer serves, as the
	// last releases that had them did.
	LegacyAPIs bool
	// RuntimeConfig turns on versions that are off by default, in the words of
	// kube-apiserver's flag --runtime-config: "resource.k8s.io/v1beta2=true".
	RuntimeConfig []string
	// StrictTransportSecurity are the directives of the header Strict-Transport-Security; none: no
	// answer has the header.
	StrictTransportSecurity []string
	// AllowedOrigins are regular expressions of the origins whose web pages may read answers; none:
	// no answer has the headers that allow it.
	AllowedOrigins []string
	// RequestTimeout is how long a request may take that is no watch; 0: a minute. A write of one
	// object may take 34 seconds at most.
	RequestTimeout time.Duration
	// MinWatchTimeout is how long a watch without a timeout of its own lasts at least: it ends after
	// between this time and twice as much. 0: it does not end by itself.
	MinWatchTimeout time.Duration
	// Network says where the server and its services are.
	Network Network
	// MaxWatches is how many watches there may be at a time; 0: 10,000. A further one is
	// answered with status 429, which asks the client to try again after a second.
	MaxWatches int
	// Controllers are the controllers of kube-controller-manager that act, by the names of its
	// flag --controllers. [ControllerNames] lists them. Nil: none.
	Controllers []string
}

// ControllerNames returns the names that Options.Controllers may have.
func ControllerNames() []string {
	var names []string
	for _, c := range lifecycle.AllControllers() {
		names = append(names, string(c))
	}
	return names
}

// Server is an http.Handler that serves the Kubernetes API over a store. It is
// safe for concurrent use.
type Server struct {
	options Options
	store   *store.Store
	builtin builtinKinds

	handler http.Handler // the filters, and what is behind them

	catalogue   *catalogue
	chain       *admissionChain
	aggregate   *aggregation.Registry
	writes      *write.Pipeline
	controllers reactions // what the server's own controllers do
	reactor     *lifecycle.Reactor
	hooks       *hooks
	frames      view.Frames
	trail       *trail // nil: none is kept
	history     *history.Recorder
	gaps        *gaps
	tokens      *auth.Issuer
	users       *auth.Authenticator
	rules       *auth.Rules
	authorizer  auth.Authorizer
	access      *auth.Access

	faults  *faults.Engine
	watches atomic.Int64 // those that are running

	// closing ends when the server closes, and with it every watch.
	closing context.Context
	close   context.CancelFunc
}

// builtinKinds are the kinds that every server has.
type builtinKinds struct {
	options     builtin.Options
	all         []*resource.Resource // in the order of discovery
	namespaces  *resource.Resource   // among all
	definitions *resource.Resource   // among all

	inTree intree.Choice // of the plugins that judge them

	acting lifecycle.Controllers // that keep some of them
}

func newBuiltinKinds(o Options) (builtinKinds, error) {
	runtimeConfig, err := builtin.ParseRuntimeConfig(o.RuntimeConfig...)
	if err != nil {
		return builtinKinds{}, fmt.Errorf("runtime config: %w", err)
	}
	config, err := intree.ReadConfiguration(o.AdmissionConfigFile)
	if err != nil {
		return builtinKinds{}, err
	}
	plugins, err := intree.NewChoice(o.EnableAdmissionPlugins, o.DisableAdmissionPlugins, config)
	if err != nil {
		return builtinKinds{}, err
	}
	acting, err := lifecycle.NewControllers(o.Controllers)
	if err != nil {
		return builtinKinds{}, err
	}
	if !acting[lifecycle.ServiceAccountController] {
		plugins.OffByDefault(intree.ServiceAccount) // nobody makes the accounts that it asks for
	}
	k := builtinKinds{inTree: plugins, acting: acting, definitions: crd.Definitions(o.LegacyAPIs)}
	k.options = builtin.Options{LegacyAPIs: o.LegacyAPIs, RuntimeConfig: runtimeConfig, Network: builtin.Network(o.Network)}
	k.all = builtin.Resources(k.options, k.definitions)
	k.namespaces = k.all[slices.IndexFunc(k.all, func(r *resource.Resource) bool { return r.NamespaceOfItself })]
	return k, nil
}

// New makes a server over a store. It creates the initial objects of a cluster in the
// store, unless they are there already, and completes what another server had begun over
// the same objects, such as the deletion of a namespace. Close ends the server; the store
// stays the caller's.
func New(s *store.Store, o Options) (*Server, error) {
	if o.Token == "" {
		return nil, fmt.Errorf("a server needs a token")
	}
	kinds, err := newBuiltinKinds(o)
	if err != nil {
		return nil, err
	}
	revision := s.Revision() // of a store that has been filled before, it is not the first one
	server, err := assemble(s, o, kinds, write.NewRandom(o.Seed, revision), auth.NewIssuer(auth.IssuerOptions(o.Accounts)), nil, nil)
	if err != nil {
		return nil, err
	}
	if err := server.fill(kinds.options); err != nil {
		return nil, fmt.Errorf("filling the store: %w", err)
	}
	server.catalogue.inherit(nil)
	if err := server.catalogue.refresh(); err != nil {
		return nil, err
	}
	if err := server.chain.refresh(); err != nil {
		return nil, err
	}
	if revision == store.FirstRevision {
		err = server.reactor.Begin(context.Background())
	} else if err = server.aggregate.Refresh(); err == nil {
		// Another server may have ended in the middle of something.
		err = server.reactor.Resume(context.Background(), s.Revision())
	}
	if err != nil {
		return nil, err
	}
	if o.Admission != nil {
		server.chain.call(judge{o.Admission})
	}
	return server, nil
}

// assemble puts the parts of a server together. The catalogue and the chain are empty. A nil
// history begins with the server.
func assemble(s *store.Store, o Options, kinds builtinKinds, random *write.Random, tokens *auth.Issuer, origin *auth.Rules,
	remembered *history.Recorder) (*Server, error) {
	requests := remembered
	if requests == nil {
		requests = history.New(o.Now, s.Oldest)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	now := func() metav1.Time { return metav1.NewTime(o.Now()) }
	memory := resource.NewMemory(o.VerifyMemory)
	closing, closes := context.WithCancel(context.Background())
	engine := &faults.Engine{Store: s, Seed: o.Seed}
	outside := crd.Outside{Services: o.Services, Closing: closing, Fails: engine.FailConversion}
	server := &Server{
		options: o, store: s, builtin: kinds,
		catalogue: &catalogue{store: s, builtin: kinds.all, definitions: kinds.definitions, outside: outside, memory: memory},
		chain:     &admissionChain{store: s, builtin: kinds.all},
		writes:    &write.Pipeline{},
		trail:     newTrail(o.AuditLevel, o.AuditLog, o.Now),
		history:   requests,
		gaps:      newGaps(),
		tokens:    tokens,
		rules:     auth.NewRules(s, origin),
		access:    &auth.Access{},
		faults:    engine,
		closing:   closing, close: closes,
	}
	var err error
	if server.hooks, err = newHooks(outside, engine, kinds.inTree.Configuration()); err != nil {
		return nil, err
	}
	engine.Knows = server.knows
	server.users, err = auth.NewAuthenticator(closing, o.Token, tokens, auth.Options(o.Users), s, o.Now,
		func(ctx context.Context, namespace, name string, patch []byte) error {
			return server.controllers.patchSecret(ctx, namespace, name, patch)
		})
	if err != nil {
		return nil, err
	}
	switch {
	case o.Authorizer != nil:
		server.authorizer = auth.By(server.rules, o.Authorizer)
	case o.Modes != nil:
		server.authorizer, err = o.Modes.are.By(server.rules, s)
	default:
		server.authorizer = auth.ByRules(server.rules)
	}
	if err != nil {
		return nil, err
	}
	// A write has reactions, and they write in turn.
	known := cluster{store: s, catalogue: server.catalogue, namespaces: kinds.namespaces, hooks: server.hooks, now: now, memory: memory,
		users: server.users, authorizer: server.authorizer}
	server.aggregate = aggregation.New(s, known, serviceNetwork{o.Services}, func(ctx context.Context, name string) { server.reactor.JudgeAPIService(ctx, name) })
	if server.chain.inTree, err = kinds.inTree.Chain(forPlugins{known, &server.controllers, random}); err != nil {
		return nil, err
	}
	server.chain.current.Store(server.chain.with(&admission.Chain{}))
	inside := forKinds{known, &server.controllers, &builtin.NodePorts{}, tokens, server.rules, random, kinds.options.Network}
	server.controllers = reactions{
		store: s, memory: memory, catalogue: server.catalogue, namespaces: kinds.namespaces, cluster: inside,
		writes: server.writes, trail: server.trail, history: server.history, now: now, aggregate: server.aggregate, gaps: server.gaps,
		quotas: newQuotas(known, kinds),
	}
	server.reactor = lifecycle.NewReactor(server.controllers, kinds.acting,
		append(controllers.New(forControllers{known, &server.controllers, o.AuthenticationInfo}, kinds.acting), restorer{&server.controllers, kinds.options})...)
	*server.writes = write.Pipeline{
		Store: s, Memory: memory, Now: now, Random: random,
		Namespaces: kinds.namespaces, WithoutNamespaceLifecycle: !kinds.inTree.NamespaceLifecycle(),
		Catalogue: server.controllers.Catalogue, Chain: server.chain.Load,
		Cluster: known,
		Reactor: aftermath{server.chain, server.aggregate, server.reactor},

		MayCreate: server.mayCreate,
		Makes:     func(ctx context.Context, revision int64) { history.From(ctx).Made(revision) },
		Repeats:   func(ctx context.Context) { history.From(ctx).Repeat() },

		DropsStatus: func(ctx context.Context) { history.From(ctx).DropsStatus() },
		Overtaken:   func(ctx context.Context, read, found int64) { history.From(ctx).Overtaken(read, found) },
	}
	if kinds.inTree.ResourceQuota() {
		server.writes.Quotas = &write.Quotas{
			Resource: server.controllers.Quotas(), Account: server.controllers.Account,
			Varies: func(r *resource.Resource) bool { return intree.ChangesUsage(r.GroupResource()) },
			Always: kinds.inTree.Configuration().LimitsResources(),
		}
	}
	counts := &requestCounts{}
	server.handler = behind(server.filters(inside, counts), paths{
		resources: resources{&buffers{}, s, server.writes, server.catalogue.Load, server.verbs(), server.subresourceVerbs(), server.gaps, counts},
		catalogue: server.catalogue.Load,
		openAPI:   &openAPI{},
		aggregate: server.aggregate,
		tokens:    tokens,
		gaps:      server.gaps,
		counts:    counts,
	})
	return server, nil
}

// maxWatches is the largest number of watches at a time.
func (s *Server) maxWatches() int64 {
	if s.options.MaxWatches > 0 {
		return int64(s.options.MaxWatches)
	}
	return maxWatches
}

// Close ends all watches and refuses further requests. It does not wait for requests in
// flight: they end with the connection or transport that carries them. It waits for
// controllers whose timer has gone off.
func (s *Server) Close() {
	s.close()
	s.hooks.close()
	s.aggregate.Close()
	s.reactor.Close()
}

// TokenFor returns a bearer token for a user who is a member of the groups.
func (s *Server) TokenFor(user string, groups ...string) string {
	return s.users.TokenFor(user, groups...)
}

// TokenForServiceAccount returns a bearer token for a service account. It is valid as long
// as the ServiceAccount exists.
func (s *Server) TokenForServiceAccount(namespace, name string) string {
	return s.users.TokenForServiceAccount(namespace, name)
}

// AccountKey returns the key that the server has made to sign the tokens of service accounts; nil
// if it was given one, or has not needed one yet.
func (s *Server) AccountKey() crypto.Signer { return s.tokens.MadeKey() }

// CertificateFor returns a client certificate for a user who is a member of the groups, and its
// key, as PEM. It fails if a certificate cannot contain the names.
func (s *Server) CertificateFor(user string, groups ...string) (certificate, key []byte, err error) {
	return s.users.CertificateFor(user, groups...)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) { s.handler.ServeHTTP(w, req) }
