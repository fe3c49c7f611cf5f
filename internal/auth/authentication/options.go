package authentication

import (
	"context"
	"crypto/x509"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// Users are the users that a cluster accepts besides those of its own credentials. All fields have useful
// zero values.
type Users struct {
	// ClientCA returns further authorities for client certificates, at each request those of
	// that moment. The common name of a certificate is the user, and its organizations are the
	// groups. Nil: only the cluster's own authority.
	ClientCA func() *x509.CertPool
	// Tokens authenticates further bearer tokens; nil: there are none.
	Tokens authenticator.Token
	// OpenID makes the authenticator of ID tokens of other issuers, for a context that ends with the
	// cluster; nil: no other issuer is trusted.
	OpenID func(closing context.Context) (authenticator.Token, error)
	// Webhook authenticates the tokens that nothing else accepts, and returns their audiences;
	// nil: such tokens are rejected.
	Webhook authenticator.Token
	// BootstrapTokens accepts the tokens in Secrets of the type bootstrap.kubernetes.io/token in
	// kube-system.
	BootstrapTokens bool
	// FrontProxy authenticates requests whose user a proxy names in headers; nil: no proxy is trusted.
	FrontProxy authenticator.Request
	// Requests authenticates the requests that nothing else accepts; nil: such requests are
	// rejected. Users are in the groups that it returns, and in no others.
	Requests authenticator.Request
	// Anonymous accepts requests without credentials, for AnonymousPaths only if there are any. Their user is
	// system:anonymous in the group system:unauthenticated. Without it they are rejected with 401, except for
	// health checks. NotAnonymous rejects these, too.
	Anonymous      bool
	AnonymousPaths []string
	NotAnonymous   bool
}

// Accounts configure how tokens of service accounts are issued, and which are accepted. All fields
// have useful zero values.
type Accounts struct {
	// URLs are the names of the issuer. It issues tokens with the first one, and accepts tokens
	// with any of them. None: https://kubernetes.default.svc.cluster.local, as kubeadm configures it.
	URLs []string
	// SigningKey is the private key; nil: the server makes one when it first needs it.
	SigningKey any
	// Keys are the public keys of accepted tokens; none: that of SigningKey.
	Keys []any
	// Audiences are the audiences of the server. A token must be for one of them. None: URLs.
	Audiences []string
	// JWKSURI is the address of the keys in the discovery document of the issuer; empty: below its first
	// URL, or at the address of the server if it speaks TLS.
	JWKSURI string
	// MaxExpiration is the longest lifetime of a token; zero: there is no limit.
	MaxExpiration time.Duration
	// ExactExpiration gives the tokens of Pods the lifetime that they request. Without it they are
	// valid for a year, for clients that do not reload them.
	ExactExpiration bool
}
