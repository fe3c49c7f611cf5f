package fakecluster

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/internal/serverflags"
	"github.com/fakecluster/fakecluster/store"
)

// Option configures a new cluster. Options that contradict each other are an error of [New], and fail the
// test in [Start]. An option that can be given once is an error if it is given again.
type Option func(*settings)

// settings has the values of a cluster's options. The zero value of a field is the default of its option.
type settings struct {
	crdPaths           []string
	additions          []addition // by WithObjects and WithManifests, in the order of the options
	inProcess          bool
	tls                bool
	seed               *uint64
	services           []service
	conversions        []conversion
	admission          functions
	audit              auditv1.Level
	webhookPaths       []string
	webhooks           []*unstructured.Unstructured // read from webhookPaths
	admissionPlugins   []string
	noAdmissionPlugins []string
	legacyAPIs         bool
	runtimeConfig      []string
	controllers        []Controller // nil: the default ones
	history            store.Options
	compaction         time.Duration // 0: never
	scheme             *runtime.Scheme
	now                func() time.Time

	given         map[string]int // how often each option of once is given
	authorization Authorization
	authenticator authenticator.Request
	authorizer    authorizer.Authorizer
	modes         *authorization.Modes // nil: RBAC

	apiServerFlags []string
	flags          serverflags.Config // read from apiServerFlags
	limits         limits             // no option changes them
	port           *int               // nil: any
	middleware     func(http.Handler) http.Handler
	wrapped        bool      // a middleware is given
	snapshot       io.Reader // nil: none
	dataFile       *dataFile // nil: the cluster is in memory only
}

// once is an option that can be given once.
func once(name string, set func(*settings)) Option {
	return func(s *settings) {
		if s.given == nil {
			s.given = map[string]int{}
		}
		s.given[name]++
		set(s)
	}
}

// check returns an error for options that contradict each other and for wrong values.
func (s *settings) check() error {
	for _, name := range slices.Sorted(maps.Keys(s.given)) {
		if times := s.given[name]; times > 1 {
			return fmt.Errorf("%s is given %d times; give it once", name, times)
		}
	}
	if s.inProcess && s.tls {
		return errors.New("InProcess and WithTLS exclude each other: without a socket there is nothing to encrypt; leave one of them out")
	}
	switch s.audit {
	case "", auditv1.LevelNone, auditv1.LevelMetadata, auditv1.LevelRequest, auditv1.LevelRequestResponse:
	default:
		return fmt.Errorf("WithAudit: there is no level %q; the levels are %s, %s, %s and %s", s.audit, auditv1.LevelNone, auditv1.LevelMetadata, auditv1.LevelRequest, auditv1.LevelRequestResponse)
	}
	switch s.authorization {
	case "", RBAC, AlwaysAllow:
	default:
		return fmt.Errorf("WithAuthorization: there is no mode %q; there are %s and %s", s.authorization, RBAC, AlwaysAllow)
	}
	if s.authorizer != nil && s.authorization != "" {
		return errors.New("WithAuthorizer and a mode of authorization exclude each other: one of them decides; leave one of them out")
	}
	if s.compaction < 0 {
		return fmt.Errorf("WithCompactionInterval: %v is negative; 0 means never", s.compaction)
	}
	if err := s.checkMiddleware(); err != nil {
		return err
	}
	if err := s.checkClock(); err != nil {
		return err
	}
	if err := s.checkConversions(); err != nil {
		return err
	}
	if !s.inProcess && bubble.Inside() {
		return errSocketInBubble
	}
	return s.checkControllers()
}

// WithCRDPaths installs the CustomResourceDefinitions in manifest files and folders. A path
// is a file, or a folder that is searched, with all folders in it, for files that end in
// .yaml, .yml or .json. A file may have several documents. In a folder, files for kustomize are
// skipped: kustomizations, the patches and configurations that they name, and documents without
// apiVersion and kind. ModulePath returns a path in another Go module.
//
// Objects of other kinds are ignored; WithManifests creates them too.
//
// It is an error if a path does not exist or does not contain a definition, if the server rejects
// a definition, or if one is in apiextensions.k8s.io/v1beta1 and WithLegacyAPIs is not given. The
// option may be given more than once.
//
// Default: no definitions.
func WithCRDPaths(paths ...string) Option {
	return func(s *settings) { s.crdPaths = append(s.crdPaths, paths...) }
}

// WithObjects creates objects, after the definitions of WithCRDPaths and together with the manifests
// of WithManifests, in the order that installing needs. So the order of the options does not matter:
// a namespace from WithObjects exists before the roles from WithManifests are created in it. Objects
// of the same step of installing are created in the given order.
//
// Objects are created as by a client: defaulted, validated and shown to admission. An object
// without a namespace goes to "default". A status is written through the status subresource
// if the kind has one. The objects themselves are not changed.
//
// An object may be unstructured or typed. Typed objects of client-go's scheme, of apiextensions
// and of the scheme of WithScheme need not name their apiVersion and kind; others have to. It is an error if
// the server refuses an object, for example because its kind or namespace does not exist.
// The option may be given more than once.
//
// Default: a cluster has what kube-apiserver makes at its start: four namespaces, the Service
// kubernetes with its Endpoints, ClusterRoles, Roles and their bindings, FlowSchemas,
// PriorityClasses and APIServices.
func WithObjects(objs ...runtime.Object) Option {
	return func(s *settings) {
		for _, obj := range objs {
			s.additions = append(s.additions, addition{object: obj})
		}
	}
}

// InProcess makes a cluster without sockets. The transport of its RESTConfig calls the server
// directly, and watches stream through memory; package clientgo describes it. Such a cluster
// works inside a testing/synctest bubble, where sockets do not. It cannot be combined with
// WithTLS. Cluster.Kubeconfig opens a socket even so.
//
// Default: HTTP/1.1 on a port of 127.0.0.1 that the system chooses.
func InProcess() Option { return func(s *settings) { s.inProcess = true } }

// WithoutNamespaceLifecycle allows objects to be created in namespaces that do not exist or
// that are being deleted. It is short for WithoutAdmissionPlugins("NamespaceLifecycle").
//
// Default: such a create is refused, with 404 or 403, as on a real server.
func WithoutNamespaceLifecycle() Option { return WithoutAdmissionPlugins("NamespaceLifecycle") }

// WithAdmissionPlugins turns on admission plugins that are compiled into kube-apiserver and off by
// default, by their names, as the flag --enable-admission-plugins does:
//
//	fakecluster.WithAdmissionPlugins("AlwaysPullImages", "NodeRestriction")
//
// An unknown name is an error. EventRateLimit and ImagePolicyWebhook need a configuration:
// WithAPIServerFlags takes the flag --admission-control-config-file. Naming a plugin that is on by default changes nothing.
//
// Default: those that kube-apiserver has by default are on. ServiceAccount is on only if the
// ServiceAccountController acts.
func WithAdmissionPlugins(names ...string) Option {
	return func(s *settings) { s.admissionPlugins = append(s.admissionPlugins, names...) }
}

// WithoutAdmissionPlugins turns off admission plugins that are on by default, by their names, as
// the flag --disable-admission-plugins does:
//
//	fakecluster.WithoutAdmissionPlugins("PodSecurity", "LimitRanger")
//
// The plugins for policies and webhooks, such as ValidatingAdmissionPolicy and
// MutatingAdmissionWebhook, can be turned off as well. It is an error if a name is unknown, or if
// WithAdmissionPlugins turns the plugin on.
//
// Default: those that kube-apiserver has by default are on. ServiceAccount is on only if the
// ServiceAccountController acts.
func WithoutAdmissionPlugins(names ...string) Option {
	return func(s *settings) { s.noAdmissionPlugins = append(s.noAdmissionPlugins, names...) }
}

// WithLegacyAPIs serves versions that kube-apiserver no longer has, in addition to v1.
//
// CustomResourceDefinitions are served in apiextensions.k8s.io/v1beta1, as by servers of 1.16 to 1.21. Every
// answer in that version carries a deprecation warning. The definitions are the same objects in both versions
// and are stored in v1. What a definition may contain depends on its version: in v1beta1 a schema is optional
// and need not be structural, and custom objects keep unknown fields unless spec.preserveUnknownFields is
// false.
//
// ValidatingAdmissionPolicies and their bindings are served in
// admissionregistration.k8s.io/v1beta1, as by servers of 1.28 to 1.33.
//
// Default: a request for v1beta1 is answered with 404.
func WithLegacyAPIs() Option { return func(s *settings) { s.legacyAPIs = true } }

// WithRuntimeConfig serves versions of built-in kinds that are alpha or beta and off by default, in the
// syntax of kube-apiserver's flag --runtime-config:
//
//	fakecluster.WithRuntimeConfig("resource.k8s.io/v1beta2=true")
//
// Several versions are joined by commas, or come by several options; api/all=true, api/beta=true
// and api/alpha=true mean all versions, and all of that stability. A version that fakecluster does
// not have is an error that lists those that it has. Kinds whose feature gate is off by default
// cannot be served.
//
// "apps/v1=false" turns off a version that a server serves without the flag, to test a client
// against a server without it: the version is not in discovery, and requests for it get 404. The
// versions of core and of the groups that the server itself reads cannot be turned off; the error
// says so.
//
// Default: the versions that a server serves without the flag.
func WithRuntimeConfig(versions ...string) Option {
	return func(s *settings) { s.runtimeConfig = append(s.runtimeConfig, versions...) }
}

// WithTLS serves HTTPS, with HTTP/2. RESTConfig and Kubeconfig trust the certificate. The
// option cannot be combined with InProcess.
//
// Default: plain HTTP/1.1.
func WithTLS() Option { return func(s *settings) { s.tls = true } }

// WithClock makes a function the clock of the cluster. The cluster uses it for the
// creationTimestamps, deletionTimestamps and times in managedFields of objects, for the times of
// audit events, and for the expiry of tokens. When a controller has to act at a certain time, it
// acts at the next write after that time. Timeouts of requests and watches go by the time of the
// process. Several goroutines may call the function at the same time. It is an error if the
// function is nil, or if it returns the zero time or a time outside of the years 0 to 9999, which
// objects cannot have. While the clock returns such a time later, requests are answered with 500.
// The option can be given once.
//
// Default: time.Now, which is the bubble's time in a testing/synctest bubble.
func WithClock(now func() time.Time) Option {
	return once("WithClock", func(s *settings) { s.now = now })
}

// checkClock returns an error for a nil clock, and for one that returns a time that objects cannot have.
func (s *settings) checkClock() error {
	switch {
	case s.given["WithClock"] == 0:
		return nil
	case s.now == nil:
		return errors.New("WithClock: the function is nil")
	}
	if err := server.CheckTime(s.now()); err != nil {
		return fmt.Errorf("WithClock: %w", err)
	}
	return nil
}

// WithScheme adds a scheme by which WithObjects finds the apiVersion and kind of typed
// objects that do not name them, such as those of an operator's own API. The kinds of
// client-go's scheme and of apiextensions do not need it. The option can be given once.
//
// Default: typed objects of other kinds have to name their apiVersion and kind.
func WithScheme(scheme *runtime.Scheme) Option {
	return once("WithScheme", func(s *settings) { s.scheme = scheme })
}

// WithSeed makes uids and generated names repeatable. Two clusters with the same seed give
// the same uids and names to the same writes in the same order. Times are not affected; for
// those, use InProcess in a testing/synctest bubble. Any number is a seed, 0 too.
//
// Default: uids and generated names are random.
func WithSeed(seed uint64) Option {
	return once("WithSeed", func(s *settings) { s.seed = &seed })
}

// WithAudit keeps an audit trail, which Cluster.Audit returns. The levels are those of the
// audit policy of a real server:
//
//   - LevelNone: there is no trail.
//   - LevelMetadata: who sent which request and what the answer's code was, with the
//     annotations of webhooks and policies.
//   - LevelRequest: also the body of the request, and the patches of webhooks.
//   - LevelRequestResponse: also the body of the answer.
//
// The trail keeps the newest 10,000 events, and fewer if their bodies exceed 64 MiB. Any other
// level is an error.
//
// Default: LevelNone, which costs nothing.
func WithAudit(level auditv1.Level) Option {
	return once("WithAudit", func(s *settings) { s.audit = level })
}

// WithWatchHistory bounds the history of changes that the cluster keeps. Watches that begin at an old
// resourceVersion, and lists at one, read this history; requests for an older one are answered with 410, as
// after a compaction of etcd. One bound is the number of revisions, where each write is a revision; the other
// is the number of bytes of the stored objects. The bound that is reached first applies. A bound of 0 means
// its default; a negative one is an error.
//
// Default: 100,000 revisions and 256 MiB.
func WithWatchHistory(revisions int, bytes int64) Option {
	return once("WithWatchHistory", func(s *settings) {
		s.history = store.Options{HistoryRevisions: revisions, HistoryBytes: bytes}
	})
}

// WithCompactionInterval compacts the history as a real server does, by its flag
// --etcd-compaction-interval, which is five minutes by default: at the end of each interval, lists
// at a revision from before the interval expire. So a list at a resourceVersion that is older than
// two intervals gets 410. A continue token of that age gets 410 as well, with a new token that
// continues the list in the present state. Watches may still begin at such a resourceVersion, as
// from the watch cache of a real server, and [Cluster.History] still returns all states. The
// interval passes by the clock of the process, or of the bubble. An interval of 0 means never; a
// negative one is an error. The option can be given once.
//
// Default: never. The commands fakecluster serve and fakecluster envtest compact every five minutes.
// [Cluster.Compact] forgets the history at once, for watches as well.
func WithCompactionInterval(interval time.Duration) Option {
	return once("WithCompactionInterval", func(s *settings) { s.compaction = interval })
}
