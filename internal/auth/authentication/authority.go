package authentication

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// Authority is a certificate authority.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
	servers     sync.Map // certificates of servers, by name
}

// validFrom and validTo include any time of a test's clock: a testing/synctest bubble begins in the year 2000.
var validFrom, validTo = time.Unix(0, 0), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// OfProcess returns the authority that signs the certificates of all servers and users in the process. It is created
// when it is first needed.
var OfProcess = sync.OnceValues(func() (*Authority, error) { return NewAuthority("fakecluster") })

// NewAuthority returns an authority with a new key.
func NewAuthority(name string) (*Authority, error) {
	a := &Authority{pool: x509.NewCertPool()}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: validFrom, NotAfter: validTo,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	a.pool.AddCert(a.certificate)
	return a, nil
}

// PEM returns the certificate of the authority, for clients to trust.
func (a *Authority) PEM() []byte { return certificatePEM(a.certificate.Raw) }

// Pool returns a pool with the certificate of the authority. It must not be altered.
func (a *Authority) Pool() *x509.CertPool { return a.pool }

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// ServerCertificate returns a certificate of servers for the names and for 127.0.0.1. It is created once for the same
// names, so forks share it.
func (a *Authority) ServerCertificate(names ...string) (tls.Certificate, error) {
	known := strings.Join(names, " ")
	if made, ok := a.servers.Load(known); ok {
		return made.(tls.Certificate), nil
	}
	key, der, err := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: names[0]},
		DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return tls.Certificate{}, err
	}
	made, _ := a.servers.LoadOrStore(known, tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: key})
	return made.(tls.Certificate), nil
}

// sign creates a key, and a certificate for it with the template.
func (a *Authority) sign(template *x509.Certificate) (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template.NotBefore, template.NotAfter, template.KeyUsage = validFrom, validTo, x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	return key, der, err
}

// ClientCertificate returns a new certificate of a user with groups, and its key, as PEM.
func (a *Authority) ClientCertificate(name string, groups ...string) (certificate, key []byte, err error) {
	return a.clientCertificate(&user.DefaultInfo{Name: name, Groups: groups}, "")
}

// clientCertificate returns a new certificate of a user, and its key, as PEM. cluster is the serial number in its
// subject.
func (a *Authority) clientCertificate(u user.Info, cluster string) (certificate, key []byte, err error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	private, der, err := a.sign(&x509.Certificate{
		SerialNumber: serial, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		Subject: pkix.Name{CommonName: u.GetName(), Organization: u.GetGroups(), SerialNumber: cluster},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("creating a certificate for %q: %w", u.GetName(), err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return certificatePEM(der), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}), nil
}
