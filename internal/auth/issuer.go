package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"gopkg.in/go-jose/go-jose.v2/jwt"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// IssuerURL is who issues the tokens of service accounts, and whom they are for if a request for
// one does not say it. It is what kubeadm tells kube-apiserver.
const IssuerURL = "https://kubernetes.default.svc.cluster.local"

// Issuer issues the tokens of service accounts. They are JSON Web Tokens, signed with a key
// that it makes when it is first needed. The zero value is ready for use. It is safe for
// concurrent use. A cluster and its forks share one.
type Issuer struct {
	once      sync.Once
	generator serviceaccount.TokenGenerator
	keys      serviceaccount.PublicKeysGetter
	documents serviceaccount.OpenIDMetadataProvider
	err       error
}

func (i *Issuer) make() error {
	i.once.Do(func() {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err == nil {
			i.generator, err = serviceaccount.JWTTokenGenerator(IssuerURL, key)
		}
		if err == nil {
			i.keys, err = serviceaccount.StaticPublicKeysGetter([]any{&key.PublicKey})
		}
		if err == nil {
			// As with kubeadm, the keys are to be found where the issuer is.
			i.documents, err = serviceaccount.NewOpenIDMetadataProvider(IssuerURL, IssuerURL+serviceaccount.JWKSPath, "", i.keys)
		}
		if err != nil {
			i.err = fmt.Errorf("making the key of service account tokens: %w", err)
		}
	})
	return i.err
}

// Generator makes tokens by a clock. The claims that it is given are made by the clock of the
// machine.
func (i *Issuer) Generator(now func() time.Time) (serviceaccount.TokenGenerator, error) {
	if err := i.make(); err != nil {
		return nil, err
	}
	return generator{i.generator, now}, nil
}

// Document is one by which others verify tokens.
type Document struct {
	JSON      []byte
	MediaType string
	MaxAge    int // how long it may be kept, in seconds
}

// Document is the one that describes the issuer, or the one that has its keys.
func (i *Issuer) Document(keys bool) (Document, error) {
	if err := i.make(); err != nil {
		return Document{}, err
	}
	if keys {
		text, age := i.documents.GetKeysetJSON()
		return Document{text, "application/jwk-set+json", age}, nil
	}
	text, age := i.documents.GetConfigJSON()
	return Document{text, "application/json", age}, nil
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
