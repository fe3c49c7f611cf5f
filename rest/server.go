package rest

import (
	"context"
	"crypto"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/fakecluster/fakecluster/internal/auth"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/report"
	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// Options configure a Server. Token must be set; all other fields have useful zero values.
type Options struct {
	// Token is the bearer token of the user who may do everything. Other credentials follow
	// from it. It must not be empty.
	Token string
	// Users are the users that the server accepts besides those of its own credentials.
	Users Users
	// AuthenticationInfo returns the data that the server adds to the ConfigMap
	// extension-apiserver-authentication in kube-system, by the keys of kube-apiserver, so that
	// servers of aggregated APIs trust the same authorities as this one. It is called at the start
	// and for each request, which is served once the ConfigMap has what is new. The caller must not
	// change what it has returned. Nil: nothing is added.
	AuthenticationInfo func() map[string]string
	// Accounts says how tokens of service accounts are issued.
	Accounts Accounts
	// Modes decide what users may do; nil: Roles and their bindings do.
	Modes *Modes
	// Authorizer decides in place of the modes; nil: the modes do.
	Authorizer authorizer.Authorizer
	// Now is the clock that objects and events are stamped with; nil: time.Now. Requests are refused while [CheckTime]
	// returns an error for it.
	Now func() time.Time
	// Seed makes uids and generated names repeat from run to run, if the requests come in
	// the same order; nil: they are random.
	Seed *uint64
	// Services resolves the services that webhooks and APIServices refer to; nil: webhooks
	// can be referred to by URL only.
	Services Services
	// AuditLevel is the level of [Server.AuditEvents]: Metadata, Request or
	// RequestResponse. Empty or None: no events.
	AuditLevel auditinternal.Level
	// AuditLog is a log of requests by its policy. With a log, the events of AuditEvents
	// have the level RequestResponse for any AuditLevel except None. Nil: no log.
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
	// RequestTimeout is the longest time of a request that is not a watch; 0: a minute. A write of one
	// object takes at most 34 seconds.
	RequestTimeout time.Duration
	// MinWatchTimeout is the shortest time of a watch without timeoutSeconds: it ends after
	// this time or up to twice as much. 0: it does not end by itself.
	MinWatchTimeout time.Duration
	// CompactionInterval is the interval between compactions of the history: lists that are older than
	// the interval expire. 0: the history is not compacted.
	CompactionInterval time.Duration
	// FlowControl says how requests are matched with FlowSchemas.
	FlowControl FlowControl
	// Network says where the server and its services are.
	Network Network
	// MaxWatches is how many watches there may be at a time; 0: 10,000. A further one is
	// answered with status 429 and a Retry-After of one second.
	MaxWatches int
	// Flags returns the flags of kube-apiserver that would configure a server as this one is, each with
	// its value, for /flagz; nil: there are none.
	Flags func() map[string]string
	// WithoutProfiling serves no profiles of the process under /debug/pprof.
	WithoutProfiling bool
	// Controllers are the controllers of kube-controller-manager that act, by the names of its
	// flag --controllers. [ControllerNames] lists them. Nil: none.
	Controllers []string
}

// ControllerNames returns the names that Options.Controllers may have.
func ControllerNames() []string {
	var names []string
	for _, c := range controller.All() {
		names = append(names, string(c))
	}
	return names
}

// Server is an http.Handler that serves the Kubernetes API over a store. It is
// safe for concurrent use.
type Server struct {
	options Options
	cluster *server.Cluster
	handler http.Handler // the filters, and what is behind them

	frames      view.Frames
	audit       *auditSink // nil: requests are not audited
	history     *history.Recorder
	failure     atomic.Pointer[report.Failure] // why the test failed; nil: it has not, as far as the server was called
	unsupported *unsupportedLog
	access      *auth.Access
	faults      *faultinjection.Engine
	reads       reads
	watches     atomic.Int64 // those that are running
	compact     compaction

	computations *computations

	// closing ends when the server closes, and with it every watch.
	closing context.Context
	close   context.CancelFunc
}

// New makes a server over a store. It creates the initial objects of a cluster in the
// store, unless they are there already, and completes what another server had begun over
// the same objects, such as the deletion of a namespace. Close ends the server; the store
// stays the caller's.
func New(s *store.Store, o Options) (*Server, error) {
	if o.Token == "" {
		return nil, fmt.Errorf("a server needs a token")
	}
	srv := newServer(s, o, history.New(o.Now, s.Oldest))
	of, err := server.New(s, srv.options.ofCluster(), srv.host())
	if err != nil {
		return nil, err
	}
	srv.serve(of)
	if err := of.Start(); err != nil {
		return nil, err
	}
	srv.compact.start()
	return srv, nil
}

// newServer makes a server over a store, without the cluster that it serves.
func newServer(s *store.Store, o Options, requests *history.Recorder) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	srv := &Server{
		options: o, history: requests, unsupported: newUnsupportedLog(), access: &auth.Access{},
		audit:  newAuditSink(o.AuditLevel, o.AuditLog, o.Now),
		faults: &faultinjection.Engine{Store: s, Seed: o.Seed},
	}
	srv.compact.interval, srv.compact.store, srv.compact.fail = o.CompactionInterval, s, srv.unsupported.logFailure
	srv.closing, srv.close = context.WithCancel(context.Background())
	srv.computations = &computations{closing: srv.closing, collects: o.collectsGarbage()}
	srv.faults.Validate = srv.validateFault
	return srv
}

// ofCluster returns the options that are about what is served, and not about HTTP.
func (o Options) ofCluster() server.Options {
	of := server.Options{
		Token: o.Token, Users: o.Users, AuthenticationInfo: o.AuthenticationInfo, Accounts: o.Accounts,
		Authorizer: o.Authorizer, Now: o.Now, Seed: o.Seed,
		LegacyAPIs: o.LegacyAPIs, RuntimeConfig: o.RuntimeConfig, Network: o.Network, Controllers: o.Controllers,
		EnableAdmissionPlugins: o.EnableAdmissionPlugins, DisableAdmissionPlugins: o.DisableAdmissionPlugins,
		AdmissionConfigFile: o.AdmissionConfigFile,
	}
	if o.Modes != nil {
		of.Modes = o.Modes.are
	}
	if o.Admission != nil {
		of.Functions = admissionFunctions{o.Admission}
	}
	return of
}

// host is what the cluster has of the server.
func (s *Server) host() server.Host {
	return server.Host{
		Services: s.options.Services, Closing: s.closing, Faults: s.faults,
		Log: agentLog{s.audit, s.history, s.options.Now}, MayCreate: s.mayCreate, Failed: s.unsupported.logFailure,
	}
}

// serve makes the handler that serves a cluster.
func (s *Server) serve(of *server.Cluster) {
	s.cluster = of
	counts := &requestCounts{flow: s.flowMetrics()}
	s.handler = behind(s.filters(counts), paths{
		resources:   resources{&buffers{}, of.Store, of.Writes, of.Registry, s.verbs(), s.subresourceVerbs(), s.unsupported, counts, s.computations, &s.compact.expired},
		registry:    of.Registry,
		openAPI:     &openAPI{},
		aggregate:   of.Aggregate,
		tokens:      of.Tokens,
		unsupported: s.unsupported,
		counts:      counts,
		flags:       s.options.Flags,
		profiling:   !s.options.WithoutProfiling,
	})
}

// maxWatches is the largest number of watches at a time.
func (s *Server) maxWatches() int64 {
	if s.options.MaxWatches > 0 {
		return int64(s.options.MaxWatches)
	}
	return maxWatches
}

// Close ends all watches and refuses further requests. It does not wait for requests in
// flight: they end with the connection or transport that carries them, except for what Drain
// waits for. It waits for controllers whose timer has gone off.
func (s *Server) Close() {
	s.close()
	s.compact.stop()
	s.cluster.Close()
}

// TokenFor returns a bearer token for a user who is a member of the groups.
func (s *Server) TokenFor(user string, groups ...string) string {
	return s.cluster.Users.TokenFor(user, groups...)
}

// TokenForServiceAccount returns a bearer token for a service account. It is valid as long
// as the ServiceAccount exists.
func (s *Server) TokenForServiceAccount(namespace, name string) string {
	return s.cluster.Users.TokenForServiceAccount(namespace, name)
}

// Act starts further controllers of kube-controller-manager, by the names of Options.Controllers. When it
// returns, they have synced all objects. It fails for an unknown name.
func (s *Server) Act(controllers []string) error { return s.cluster.Act(controllers) }

// Acts reports whether a controller acts. The name is one of Options.Controllers.
func (s *Server) Acts(name string) bool { return s.cluster.Acts(name) }

// AccountKey returns the key that the server has made to sign the tokens of service accounts; nil
// if it was given one, or has not needed one yet.
func (s *Server) AccountKey() crypto.Signer { return s.cluster.Tokens.MadeKey() }

// CertificateFor returns a client certificate for a user who is a member of the groups, and its
// key, as PEM. It fails if a certificate cannot contain the names.
func (s *Server) CertificateFor(user string, groups ...string) (certificate, key []byte, err error) {
	return s.cluster.Users.CertificateFor(user, groups...)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) { s.handler.ServeHTTP(w, req) }
