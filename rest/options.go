package rest

import (
	"slices"
	"time"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/internal/server"
)

// Options configure a Server. Token must be set; all other fields have useful zero values.
type Options struct {
	// Token is the bearer token of the user who may do everything. Other credentials follow
	// from it. It must not be empty.
	Token string
	// Users are the users that the server accepts besides those of its own credentials.
	Users Users
	// AuthenticationInfo returns the data that the server adds to the ConfigMap
	// extension-apiserver-authentication in kube-system, with the keys of kube-apiserver, so that
	// aggregated API servers trust the same authorities as this one. It is called at the start and
	// before each request; changed data is in the ConfigMap before the request is served. The
	// caller must not change what it has returned. Nil: nothing is added.
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

// ofCluster returns the options that are about what is served, and not about HTTP.
func (o Options) ofCluster() server.Options {
	options := server.Options{
		Token: o.Token, Users: authentication.Users(o.Users), AuthenticationInfo: o.AuthenticationInfo, Accounts: authentication.Accounts(o.Accounts),
		Authorizer: o.Authorizer, Now: o.Now, Seed: o.Seed,
		LegacyAPIs: o.LegacyAPIs, RuntimeConfig: o.RuntimeConfig, Network: builtin.Network(o.Network), Controllers: o.Controllers,
		EnableAdmissionPlugins: o.EnableAdmissionPlugins, DisableAdmissionPlugins: o.DisableAdmissionPlugins,
		AdmissionConfigFile: o.AdmissionConfigFile,
	}
	if o.Modes != nil {
		options.Modes = o.Modes.are
	}
	if o.Admission != nil {
		options.Functions = admissionFunctions{o.Admission}
	}
	return options
}

// collectsGarbage reports whether the garbage collector is among the controllers that act.
func (o Options) collectsGarbage() bool {
	return slices.Contains(o.Controllers, string(controller.GarbageCollector))
}

// FlowControl configures how a server matches requests with FlowSchemas. Requests are never queued.
type FlowControl struct {
	// Off matches no request. Otherwise the headers of answers name the FlowSchema and the
	// PriorityLevelConfiguration, and /metrics counts the requests of each.
	Off bool
	// Seats is how many requests a real server would serve at a time, which the levels share in /metrics;
	// 0: 600.
	Seats int
}
