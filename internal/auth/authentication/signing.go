package authentication

import (
	"crypto"
	"crypto/x509"

	"k8s.io/kubernetes/pkg/serviceaccount"
)

// Signing returns the authority that signs certificates which the cluster accepts, and what generates the tokens of
// Secrets.
func (a *Authenticator) Signing() (certificate *x509.Certificate, key crypto.Signer, tokens serviceaccount.TokenGenerator, err error) {
	authority, err := OfProcess()
	if err != nil {
		return nil, nil, nil, err
	}
	tokens, err = a.issuer.LegacyGenerator()
	return authority.certificate, authority.key, tokens, err
}
