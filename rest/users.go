package rest

import (
	"context"
	"crypto/x509"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"

	"github.com/fakecluster/fakecluster/internal/auth"
)

// Users says which users a server knows besides those of the credentials that it makes
// itself.
type Users struct {
	// ClientCA returns further authorities for client certificates, at each request those of
	// that moment. The common name of a certificate is the user, and its organizations are the
	// groups. Nil: only the server's own authority.
	ClientCA func() *x509.CertPool
	// Tokens authenticates further bearer tokens; nil: there are none.
	Tokens authenticator.Token
	// OpenID makes what authenticates ID tokens of other issuers, for a context that ends with the
	// server; nil: no other issuer is trusted.
	OpenID func(closing context.Context) (authenticator.Token, error)
	// Webhook authenticates tokens that nothing else does, and says which audiences they are for;
	// nil: there are no such tokens.
	Webhook authenticator.Token
	// BootstrapTokens accepts the tokens in Secrets of the type bootstrap.kubernetes.io/token in
	// kube-system.
	BootstrapTokens bool
	// FrontProxy authenticates requests whose user a proxy names in headers; nil: no proxy
	// is trusted.
	FrontProxy authenticator.Request
	// Requests authenticates requests that nothing else does; nil: such requests are
	// refused. The users have the groups that it gives them, and no others.
	Requests authenticator.Request
	// Anonymous accepts requests without credentials as those of the user system:anonymous, of
	// the group system:unauthenticated. Otherwise they are refused with 401. If AnonymousPaths
	// has any, it accepts those for these paths only. Either way everybody may read the health
	// checks, unless NotAnonymous says that nothing is answered without credentials.
	Anonymous      bool
	AnonymousPaths []string
	NotAnonymous   bool
}

// Modes say who decides what users may do: authorizers that are called one after the other.
type Modes struct{ are *auth.Modes }

// ModeOptions say who decides what users may do, in the words of the flags of kube-apiserver.
type ModeOptions = auth.ModeOptions

// NewModes reads the files that the options name. The errors are those of kube-apiserver.
func NewModes(o ModeOptions) (*Modes, error) {
	are, err := auth.NewModes(o)
	if err != nil {
		return nil, err
	}
	return &Modes{are}, nil
}

// Has reports whether a mode is among them.
func (m *Modes) Has(mode string) bool { return m.are.Has(mode) }

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
	// ExactExpiration gives the tokens of Pods the lifetime that they request. Without it they
	// are valid for a year, for the sake of clients that do not reload them.
	ExactExpiration bool
}
