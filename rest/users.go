package rest

import (
	"crypto/x509"
	"net/netip"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// Users says whom a server knows beside the users of the credentials that it makes itself.
type Users struct {
	// ClientCA are authorities for client certificates, whose common names are users, and whose
	// organizations are their groups; nil: none but the server's own.
	ClientCA *x509.CertPool
	// Tokens knows the users of further bearer tokens; nil: there are none.
	Tokens authenticator.Token
	// Requests knows the users of requests that nothing else knows; nil: there are none. The
	// users have the groups that it gives them, and no others.
	Requests authenticator.Request
	// Anonymous has requests without credentials be those of the user system:anonymous, of the
	// group system:unauthenticated. Otherwise they are refused with 401.
	Anonymous bool
}

// Accounts says how tokens of service accounts are issued, and which are accepted. The zero value
// of each field is good.
type Accounts struct {
	// URLs are the names of the issuer. The first stands in the tokens that it issues; those
	// with another one are accepted. None: that of kubeadm.
	URLs []string
	// SigningKey is the private key; nil: one that is made when it is first needed.
	SigningKey any
	// Keys are the public keys of the tokens that are accepted; none: that of SigningKey.
	Keys []any
	// Audiences are those whom a token has to be for; none: URLs.
	Audiences []string
	// JWKSURI is where the keys are to be found, as the document of the issuer says; empty: below
	// its first URL.
	JWKSURI string
	// MaxExpiration bounds how long a token is good; zero: there is no bound.
	MaxExpiration time.Duration
	// ExactExpiration keeps the tokens that Pods get from being good for a year, as long as those
	// who use them have not learned to get new ones.
	ExactExpiration bool
}

// Network says where the objects that a server has from its start say that it and its services
// are. The zero value of each field is good.
type Network struct {
	// Services has the addresses of services: IPv4, with at least eight of them. Zero:
	// 10.0.0.0/24.
	Services netip.Prefix
	// Server is the address of the server. Zero: 192.0.2.1, which is reserved for examples. If it
	// is a loopback one, there are no Endpoints: no such object may have it.
	Server netip.Addr
	// Port is that of the server. Zero: 6443.
	Port int
}
