package fakecluster

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/fakecluster/fakecluster/store"
)

// Option is a choice made for a new cluster.
type Option func(*settings)

// settings is what the options of a cluster come to. The zero value is the
// default of each.
type settings struct {
	crdPaths           []string
	objects            []runtime.Object
	inProcess          bool
	tls                bool
	seed               *uint64
	services           []service
	conversions        []conversion
	admission          functions
	audit              auditv1.Level
	webhookPaths       []string
	webhooks           []*unstructured.Unstructured // read from there
	noNamespaceRefusal bool
	legacyAPIs         bool
	garbageCollection  bool
	history            store.Options
}

// check refuses options that contradict each other.
func (s *settings) check() error {
	if s.inProcess && s.tls {
		return errors.New("InProcess and WithTLS exclude each other: without a socket there is nothing to encrypt")
	}
	switch s.audit {
	case "", auditv1.LevelNone, auditv1.LevelMetadata, auditv1.LevelRequest, auditv1.LevelRequestResponse:
	default:
		return fmt.Errorf("WithAudit: there is no level %q", s.audit)
	}
	return nil
}

// WithCRDPaths installs the CustomResourceDefinitions in the given manifest files
// and folders, which are searched with their subfolders for .yaml, .yml and .json
// files. A kustomization.yaml is skipped; an object of another kind is an error, and
// so is a definition in v1beta1 without WithLegacyAPIs. The option may be given more
// than once.
//
// Default: no definitions.
func WithCRDPaths(paths ...string) Option {
	return func(s *settings) { s.crdPaths = append(s.crdPaths, paths...) }
}

// WithObjects creates objects, in the order given and after the definitions of
// WithCRDPaths, as a client would: they are defaulted and validated, and a kind
// or namespace that is not there is an error. A status is written through the
// status subresource, if the kind has one. Objects of the types of client-go's
// scheme need not name their kind.
//
// Default: nothing but the initial namespaces.
func WithObjects(objs ...runtime.Object) Option {
	return func(s *settings) { s.objects = append(s.objects, objs...) }
}

// InProcess makes a cluster without sockets: the transport in its RESTConfig
// calls the server directly, and watches stream through memory. It works inside a
// testing/synctest bubble, where sockets do not. It excludes WithTLS.
//
// Default: HTTP on a loopback socket.
func InProcess() Option { return func(s *settings) { s.inProcess = true } }

// WithoutNamespaceLifecycle lets namespaced objects be created in namespaces that
// do not exist or are being deleted.
//
// Default: such a create is refused, as on a real server.
func WithoutNamespaceLifecycle() Option { return func(s *settings) { s.noNamespaceRefusal = true } }

// WithLegacyAPIs serves what servers of 1.16 to 1.21 did and later ones do not:
// CustomResourceDefinitions in apiextensions.k8s.io/v1beta1, beside v1. Every answer
// of that version warns of its end. The definitions are the same objects in both
// versions and are stored in v1; what a request may say depends on its version, as
// it did there: in v1beta1 a schema is not required and need not be structural, and
// unknown fields of custom objects are kept unless spec.preserveUnknownFields is
// false. ValidatingAdmissionPolicies and their bindings are served in
// admissionregistration.k8s.io/v1beta1, too, as by servers of 1.28 to 1.33.
//
// Default: v1beta1 is answered with 404, as by a server of 1.34 or later.
func WithLegacyAPIs() Option { return func(s *settings) { s.legacyAPIs = true } }

// WithGarbageCollection deletes objects whose owners, by their ownerReferences, are
// gone, and finishes deletions in the foreground and those that orphan, by the
// rules of kube-controller-manager and before the write that gave rise to it is
// answered. An object that names owners none of which is there is garbage from its
// creation on.
//
// Default: the API server alone, as with envtest: dependents outlive their owners,
// and the finalizers foregroundDeletion and orphan stay until somebody removes them.
func WithGarbageCollection() Option { return func(s *settings) { s.garbageCollection = true } }

// WithTLS serves HTTPS, with HTTP/2, by a certificate that RESTConfig and
// Kubeconfig trust. It excludes InProcess.
//
// Default: plain HTTP/1.1.
func WithTLS() Option { return func(s *settings) { s.tls = true } }

// WithSeed makes uids and generated names repeat: two clusters with the same seed
// give the same ones to the same writes in the same order.
//
// Default: they are random.
func WithSeed(seed uint64) Option { return func(s *settings) { s.seed = &seed } }

// WithAudit keeps an audit trail, which Cluster.Audit reads: at LevelMetadata who
// asked for what and what became of it, with the annotations of webhooks and
// policies; at LevelRequest also what was sent, and the patches of webhooks; at
// LevelRequestResponse also what was answered. It keeps the newest 10,000 events,
// and no more of them than have 64 MiB of what was sent and answered.
//
// Default: no trail, which costs nothing.
func WithAudit(level auditv1.Level) Option { return func(s *settings) { s.audit = level } }

// WithHistory bounds how far back watches and lists can reach: to the given
// number of revisions and bytes of objects, whichever is less. Zero leaves the
// default of either.
//
// Default: 100,000 revisions and 256 MiB.
func WithHistory(revisions int, bytes int64) Option {
	return func(s *settings) {
		s.history = store.Options{HistoryRevisions: revisions, HistoryBytes: bytes}
	}
}
