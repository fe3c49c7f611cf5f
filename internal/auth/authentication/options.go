package authentication

import (
	"context"
	"crypto/x509"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// Users are the users that a cluster accepts besides those of its own credentials. Package rest says what the fields mean.
type Users struct {
	ClientCA        func() *x509.CertPool
	Tokens          authenticator.Token
	OpenID          func(closing context.Context) (authenticator.Token, error)
	Webhook         authenticator.Token
	BootstrapTokens bool
	FrontProxy      authenticator.Request
	Requests        authenticator.Request
	Anonymous       bool
	AnonymousPaths  []string
	NotAnonymous    bool
}

// Accounts configure how tokens of service accounts are issued, and which are accepted. Package rest says what the fields mean.
type Accounts struct {
	URLs            []string
	SigningKey      any
	Keys            []any
	Audiences       []string
	JWKSURI         string
	MaxExpiration   time.Duration
	ExactExpiration bool
}
