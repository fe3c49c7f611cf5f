package authentication

import (
	"context"
	"crypto/x509"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// Users configures the users that a cluster accepts besides those of its own credentials. All fields have useful zero
// values.
type Users struct {
	// ClientCA returns further authorities for client certificates; it is called for each request. The common name of a
	// certificate is the user, and its organizations are the groups. nil: only the cluster's own authority.
	ClientCA func() *x509.CertPool
	// Tokens authenticates further bearer tokens; nil: none.
	Tokens authenticator.Token
	// OpenID returns the authenticator of ID tokens of other issuers. The context ends with the cluster. nil: no other
	// issuer is trusted.
	OpenID func(closing context.Context) (authenticator.Token, error)
	// Webhook authenticates the tokens that nothing else accepts, and returns their audiences;
	// nil: such tokens are rejected.
	Webhook authenticator.Token
	// BootstrapTokens accepts the tokens in Secrets of the type bootstrap.kubernetes.io/token in
	// kube-system.
	BootstrapTokens bool
	// FrontProxy authenticates requests of proxies with the user in headers; nil: no proxy is trusted.
	FrontProxy authenticator.Request
	// Requests authenticates the requests that nothing else accepts; nil: such requests are rejected. Users are only in
	// the groups that it returns.
	Requests authenticator.Request
	// Anonymous accepts requests without credentials; if AnonymousPaths is not empty, only for these. Their user is
	// system:anonymous in the group system:unauthenticated. Otherwise they are rejected with 401, except health checks.
	// NotAnonymous also rejects these.
	Anonymous      bool
	AnonymousPaths []string
	NotAnonymous   bool
}

// Accounts configures how tokens of service accounts are issued, and which are accepted. All fields have useful zero
// values.
type Accounts struct {
	// URLs are the names of the issuer. It issues tokens with the first one, and accepts tokens
	// with any of them. None: https://kubernetes.default.svc.cluster.local, as kubeadm configures it.
	URLs []string
	// SigningKey is the private key; nil: the server generates one when it first needs it.
	SigningKey any
	// Keys are the public keys of accepted tokens; none: the one of SigningKey.
	Keys []any
	// Audiences are the audiences of the server. A token must be for one of them. None: URLs.
	Audiences []string
	// JWKSURI is the address of the keys in the discovery document of the issuer; empty: at the address of a server with
	// TLS, or else below the first URL.
	JWKSURI string
	// MaxExpiration is the longest lifetime of a token; zero: no limit.
	MaxExpiration time.Duration
	// ExactExpiration gives the tokens of Pods the lifetime that they request. Without it they are
	// valid for a year, for clients that do not reload them.
	ExactExpiration bool
}
