package auth

import (
	"crypto"
	"crypto/x509"

	"k8s.io/kubernetes/pkg/serviceaccount"
)

// Signing is what kube-controller-manager reads from files: the authority that signs certificates, and the key that
// signs the tokens of Secrets.
type Signing struct {
	// Certificate and Key are the authority of the cluster.
	Certificate *x509.Certificate
	Key         crypto.Signer
	// SerialNumber is an attribute of the subject of a client certificate. The cluster and its forks accept it by this
	// attribute; other clusters of the process, which have the same authority, reject it.
	SerialNumber string
	// Tokens generates the tokens of Secrets of the type kubernetes.io/service-account-token.
	Tokens serviceaccount.TokenGenerator
}

// Signing returns what signs the certificates and tokens that the cluster accepts.
func (a *Authenticator) Signing() (Signing, error) {
	authority, err := OfProcess()
	if err != nil {
		return Signing{}, err
	}
	tokens, err := a.issuer.LegacyGenerator()
	return Signing{Certificate: authority.certificate, Key: authority.key, SerialNumber: a.fingerprint(), Tokens: tokens}, err
}
