package authentication

import (
	"crypto"
	"crypto/x509"

	"k8s.io/kubernetes/pkg/serviceaccount"
)

// Signing returns the authority of client certificates that the cluster accepts, and the generator of tokens for
// Secrets.
func (a *Authenticator) Signing() (certificate *x509.Certificate, key crypto.Signer, tokens serviceaccount.TokenGenerator, err error) {
	authority, err := OfProcess()
	if err != nil {
		return nil, nil, nil, err
	}
	tokens, err = a.issuer.LegacyGenerator()
	return authority.certificate, authority.key, tokens, err
}
