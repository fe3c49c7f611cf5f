package authentication

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gopkg.in/go-jose/go-jose.v2/jwt"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// IssuerURL is the issuer of the tokens of service accounts, and their audience if the request for a
// token names none. It is what kubeadm configures.
const IssuerURL = "https://kubernetes.default.svc.cluster.local"

// Issuer issues the tokens of service accounts. They are JSON Web Tokens. It is safe for
// concurrent use. A cluster and its forks share one.
type Issuer struct {
	options   Accounts
	once      sync.Once
	generator serviceaccount.TokenGenerator
	legacy    serviceaccount.TokenGenerator
	keys      serviceaccount.PublicKeysGetter
	err       error
	made      atomic.Pointer[ecdsa.PrivateKey] // that the issuer has made itself
}

// MadeKey is the key that the issuer has made itself; nil if it was given one, or has not needed
// one yet.
func (i *Issuer) MadeKey() crypto.Signer {
	if key := i.made.Load(); key != nil {
		return key
	}
	return nil
}

// NewAccountKey makes a key that signs the tokens of service accounts.
func NewAccountKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// NewIssuer makes an issuer.
func NewIssuer(o Accounts) *Issuer { return &Issuer{options: o} }

// urls are the names of the issuer.
func (i *Issuer) urls() []string {
	if len(i.options.URLs) == 0 {
		return []string{IssuerURL}
	}
	return i.options.URLs
}

// Audiences are those that a token has to be for, so that the cluster accepts it.
func (i *Issuer) Audiences() authenticator.Audiences {
	if len(i.options.Audiences) == 0 {
		return i.urls()
	}
	return i.options.Audiences
}

// MaxExpiration is the longest lifetime of a token; zero: there is no limit.
func (i *Issuer) MaxExpiration() time.Duration { return i.options.MaxExpiration }

// ExtendsExpiration says that tokens of Pods stay valid for longer than they say.
func (i *Issuer) ExtendsExpiration() bool { return !i.options.ExactExpiration }

func (i *Issuer) make() error {
	i.once.Do(func() {
		serviceaccount.RegisterMetrics()
		if err := i.makeWith(i.options.SigningKey, i.options.Keys); err != nil {
			i.err = fmt.Errorf("making the key of service account tokens: %w", err)
		}
	})
	return i.err
}

func (i *Issuer) makeWith(key any, keys []any) (err error) {
	if key == nil {
		made, err := NewAccountKey()
		if err != nil {
			return err
		}
		i.made.Store(made)
		key = made
	}
	if len(keys) == 0 {
		signer, ok := key.(crypto.Signer)
		if !ok {
			return fmt.Errorf("%T is not a key that signs", key)
		}
		keys = []any{signer.Public()}
	}
	url := i.urls()[0]
	if i.generator, err = serviceaccount.JWTTokenGenerator(url, key); err != nil {
		return err
	}
	if i.legacy, err = serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key); err != nil {
		return err
	}
	if i.keys, err = serviceaccount.StaticPublicKeysGetter(keys); err != nil {
		return err
	}
	return nil
}

// Generator makes tokens by a clock. The claims that it is given are made by the clock of the
// machine.
func (i *Issuer) Generator(now func() time.Time) (serviceaccount.TokenGenerator, error) {
	if err := i.make(); err != nil {
		return nil, err
	}
	return generator{i.generator, now}, nil
}

// LegacyGenerator makes tokens for Secrets, which do not expire.
func (i *Issuer) LegacyGenerator() (serviceaccount.TokenGenerator, error) {
	if err := i.make(); err != nil {
		return nil, err
	}
	return i.legacy, nil
}

// Document is one by which others verify tokens.
type Document struct {
	JSON      []byte
	MediaType string
	MaxAge    int // how long it may be kept, in seconds
}

// Document is the one that describes the issuer, or the one that has its keys. The address is that of
// the server, host and port, if it speaks TLS: without a JWKSURI the keys are to be found there, and
// without an address below the first URL of the issuer. There is no document if that is not an https URL.
func (i *Issuer) Document(keys bool, address string) (d Document, ok bool, err error) {
	if err := i.make(); err != nil {
		return Document{}, false, err
	}
	url, keysURL := i.urls()[0], i.options.JWKSURI
	if keysURL == "" && address == "" {
		keysURL = strings.TrimSuffix(url, "/") + serviceaccount.JWKSPath
	}
	documents, err := serviceaccount.NewOpenIDMetadataProvider(url, keysURL, address, i.keys)
	if err != nil {
		return Document{}, false, nil // as on a real server
	}
	if keys {
		text, age := documents.GetKeysetJSON()
		return Document{text, "application/jwk-set+json", age}, true, nil
	}
	text, age := documents.GetConfigJSON()
	return Document{text, "application/json", age}, true, nil
}

type generator struct {
	serviceaccount.TokenGenerator
	now func() time.Time
}

// GenerateToken implements upstream's TokenGenerator.
func (g generator) GenerateToken(ctx context.Context, claims *jwt.Claims, private any) (string, error) {
	moved := moveClaims(claims, time.Until(g.now()))
	return g.TokenGenerator.GenerateToken(ctx, &moved, private)
}

// moveClaims are the claims with all times moved.
func moveClaims(claims *jwt.Claims, by time.Duration) jwt.Claims {
	moved := *claims
	by = by.Round(time.Second)
	for _, date := range []**jwt.NumericDate{&moved.IssuedAt, &moved.NotBefore, &moved.Expiry} {
		if *date != nil {
			*date = jwt.NewNumericDate((*date).Time().Add(by))
		}
	}
	return moved
}
