package server

import (
	"time"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/audittrail"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/builtin"
)

// Options configure a Cluster. Token must be set; all other fields have useful zero values. A fork has the options of
// its origin, except Services.
type Options struct {
	// Token is the bearer token of the administrator. Other credentials are derived from it. It must not be empty.
	Token string
	// Users are the users that the server authenticates besides those of its own credentials.
	Users authentication.Users
	// AuthenticationInfo returns the data that the server adds to the ConfigMap extension-apiserver-authentication in
	// kube-system, with the keys of kube-apiserver, so that aggregated API servers trust the same authorities as this
	// one. It is called at the start and before each request, so that the ConfigMap has changed data before the request
	// is served. It must not alter a map that it has returned. Nil: nothing is added.
	AuthenticationInfo func() map[string]string
	// Accounts configures the tokens of service accounts.
	Accounts authentication.Accounts
	// Modes are the authorization modes; nil: RBAC only.
	Modes *authorization.Modes
	// Authorizer replaces the modes; nil: the modes apply.
	Authorizer authorizer.Authorizer
	// Now is the clock for the times of objects and events; nil: time.Now. Requests are rejected while [CheckTime]
	// returns an error for it.
	Now func() time.Time
	// Seed makes uids and generated names the same in each run, if the requests come in the same order; nil: they are
	// random.
	Seed *uint64
	// Services resolves the services that webhooks and APIServices refer to; nil: only URLs work.
	Services Services
	// AuditLevel is the level of the events in Cluster.Audit: Metadata, Request or
	// RequestResponse. Empty or None: no events.
	AuditLevel auditinternal.Level
	// AuditLog is a log of requests by its policy. With a log, these
	// events have the level RequestResponse for any AuditLevel except None. Nil: no log.
	AuditLog *audittrail.Log
	// Functions is called for each write after the webhooks and policies of the cluster. It
	// is not called for the initial objects. Nil: nothing is called.
	Functions admission.Plugin
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
	// RuntimeConfig turns on versions that are off by default, as kube-apiserver's flag --runtime-config does:
	// "resource.k8s.io/v1beta2=true".
	RuntimeConfig []string
	// CompactionInterval is the interval between compactions of the history: lists that are older than
	// the interval expire. 0: the history is not compacted.
	CompactionInterval time.Duration
	// Network has the addresses of the server and its services.
	Network builtin.Network
	// Controllers are the controllers of kube-controller-manager that act, by the names of its
	// flag --controllers. controller.All lists them. Nil: none.
	Controllers []string
}
