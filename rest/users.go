package rest

import (
	"crypto/x509"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// Users says which users a server knows besides those of the credentials that it makes
// itself.
type Users struct {
	// ClientCA has further authorities for client certificates. The common name of a
	// certificate is the user, and its organizations are the groups. Nil: only the server's own
	// authority.
	ClientCA *x509.CertPool
	// Tokens authenticates further bearer tokens; nil: there are none.
	Tokens authenticator.Token
	// Requests authenticates requests that nothing else does; nil: such requests are
	// refused. The users have the groups that it gives them, and no others.
	Requests authenticator.Request
	// Anonymous accepts requests without credentials as those of the user system:anonymous, of
	// the group system:unauthenticated. Otherwise they are refused with 401.
	Anonymous bool
}

// Accounts says how tokens of service accounts are issued, and which are accepted. All fields
// have useful zero values.
type Accounts struct {
	// URLs are the names of the issuer. It issues tokens with the first one, and accepts
	// tokens with any of them. None: the one that kubeadm configures.
	URLs []string
	// SigningKey is the private key; nil: the server makes one when it first needs it.
	SigningKey any
	// Keys are the public keys of accepted tokens; none: that of SigningKey.
	Keys []any
	// Audiences are the audiences of the server. A token must be for one of them. None:
	// URLs.
	Audiences []string
	// JWKSURI is the address of the keys in the discovery document of the issuer; empty: below
	// its first URL.
	JWKSURI string
	// MaxExpiration is the longest lifetime of a token; zero: there is no limit.
	MaxExpiration time.Duration
	// ExactExpiration gives the tokens of Pods the lifetime that they ask for. Without it they
	// are valid for a year, for the sake of clients that do not reload them.
	ExactExpiration bool
}
