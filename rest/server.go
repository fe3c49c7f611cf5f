package rest

import (
	"context"
	"crypto"
	"crypto/x509"
	"net/http"
	"sync/atomic"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/report"
	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/internal/view"
)

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
	access      *authorization.Access
	faults      *faultinjection.Engine
	reads       reads
	watches     atomic.Int64 // those that are running
	compact     compaction

	computations *computations

	// closing ends when the server closes, and with it every watch.
	closing context.Context
	close   context.CancelFunc
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

// Act starts further controllers of kube-controller-manager, by their names as in
// [Options].Controllers. When it returns, they have synced all objects. It fails for an unknown
// name.
func (s *Server) Act(controllers []string) error { return s.cluster.Act(controllers) }

// Replace makes a controller pause until Act names it, because a client acts in its place. It fails for an unknown name.
func (s *Server) Replace(controller string) error { return s.cluster.Replace(controller) }

// PublishTrust adds the present Services.AuthenticationInfo to the ConfigMap
// extension-apiserver-authentication. The server also does this when it starts.
func (s *Server) PublishTrust() { s.cluster.PublishTrust() }

// StandIn makes the service of an APIService serve a version of the API although the APIService is
// not stored: see aggregation.Registry.
func (s *Server) StandIn(a *apiregistrationv1.APIService, standsFor func(*apiregistrationv1.ServiceReference) bool) (end func(), err error) {
	return s.cluster.Aggregate.StandIn(a, standsFor)
}

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

// Signing is what kube-controller-manager reads from files: the authority that signs certificates, and the key that signs
// the tokens of Secrets.
type Signing struct {
	// Certificate and Key are the authority of the cluster.
	Certificate *x509.Certificate
	Key         crypto.Signer
	// SerialNumber is an attribute of the subject of a client certificate. The cluster and its forks accept it by this
	// attribute; other clusters of the process, which have the same authority, reject it.
	SerialNumber string
	// Tokens generates the tokens of Secrets of the type kubernetes.io/service-account-token.
	Tokens serviceaccount.TokenGenerator
}

// Signing returns what signs the certificates and tokens that the server accepts.
func (s *Server) Signing() (signing Signing, err error) {
	signing.SerialNumber = s.cluster.Users.SerialNumber()
	signing.Certificate, signing.Key, signing.Tokens, err = s.cluster.Users.Signing()
	return signing, err
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) { s.handler.ServeHTTP(w, req) }
