package authentication_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/testing/storetest"
	"github.com/fakecluster/fakecluster/store"
)

// clientOf makes a request with a certificate that an authority has given to jane of the group dev.
func clientOf(t *testing.T, authority *authentication.Authority) *http.Request {
	t.Helper()
	return withCertificate(t, authority.ClientCertificate)
}

func withCertificate(t *testing.T, issue func(name string, groups ...string) (certificate, key []byte, err error)) *http.Request {
	t.Helper()
	certificate, _, err := issue("jane", "dev")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(certificate)
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	req := request("")
	req.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
	return req
}

func request(token string) *http.Request {
	req, _ := http.NewRequest(http.MethodGet, "https://example.com/", nil)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

func TestUsersOfOptions(t *testing.T) {
	theirs, err := authentication.NewAuthority("theirs")
	if err != nil {
		t.Fatal(err)
	}
	strangers, err := authentication.NewAuthority("strangers")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := authentication.NewAuthenticator(t.Context(), "another", authentication.NewIssuer(authentication.Accounts{}), authentication.Users{}, storetest.Open(t, store.Options{}), storetest.Prefix, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	tokens := tokenfile.New(map[string]*user.DefaultInfo{"of-jane": {Name: "jane", UID: "7", Groups: []string{"dev"}}})
	jane := "jane of dev,system:authenticated"
	for _, c := range []struct {
		rule    string
		options authentication.Users
		request *http.Request
		want    string
	}{
		{"a certificate of the authority names the user and its groups", authentication.Users{ClientCA: theirs.Pool}, clientOf(t, theirs), jane},
		{"one of another authority is refused", authentication.Users{ClientCA: theirs.Pool}, clientOf(t, strangers), "refused"},
		{"wrong credentials do not make a user anonymous", authentication.Users{ClientCA: theirs.Pool, Anonymous: true}, clientOf(t, strangers), "refused"},
		{"nor does a certificate for another cluster", authentication.Users{Anonymous: true}, withCertificate(t, elsewhere.CertificateFor), "refused"},
		{"nor if others have an authority, too", authentication.Users{ClientCA: theirs.Pool, Anonymous: true}, withCertificate(t, elsewhere.CertificateFor), "refused"},
		{"without the option there is no other authority", authentication.Users{}, clientOf(t, theirs), "refused"},
		{"a token is looked up", authentication.Users{Tokens: tokens}, request("of-jane"), jane},
		{"an unknown token is refused", authentication.Users{Tokens: tokens, Anonymous: true}, request("of-joe"), "refused"},
		{"the cluster's own token remains", authentication.Users{Tokens: tokens}, request("secret"), "kubernetes-admin of system:masters,system:authenticated"},
		{"without credentials nobody comes in", authentication.Users{}, request(""), "refused"},
		{"unless it is allowed", authentication.Users{Anonymous: true}, request(""), "system:anonymous of system:unauthenticated"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			users, err := authentication.NewAuthenticator(t.Context(), "secret", authentication.NewIssuer(authentication.Accounts{}), c.options, storetest.Open(t, store.Options{}), storetest.Prefix, time.Now, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time it may be remembered
				got := "refused"
				if by, ok, err := users.Authenticate(c.request.Clone(t.Context())); ok && err == nil {
					got = by.GetName() + " of " + strings.Join(by.GetGroups(), ",")
				}
				if got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}
		})
	}
}

func TestIssuerOptions(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	type document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	for _, c := range []struct {
		rule    string
		options authentication.Accounts
		address string
		want    document
		err     string
	}{
		{"without options it is kubeadm's", authentication.Accounts{}, "", document{authentication.IssuerURL, authentication.IssuerURL + "/openid/v1/jwks"}, ""},
		{"a server with TLS has the keys", authentication.Accounts{}, "127.0.0.1:443", document{authentication.IssuerURL, "https://127.0.0.1:443/openid/v1/jwks"}, ""},
		{"the first URL issues", authentication.Accounts{URLs: []string{"https://a.example/", "https://b.example"}, SigningKey: key}, "", document{"https://a.example/", "https://a.example/openid/v1/jwks"}, ""},
		{"the keys may be elsewhere", authentication.Accounts{URLs: []string{"https://a.example"}, JWKSURI: "https://keys.example"}, "127.0.0.1:443", document{"https://a.example", "https://keys.example"}, ""},
		{"an issuer that is not a URL has no documents", authentication.Accounts{URLs: []string{"kubernetes/serviceaccount"}}, "", document{}, ""},
		{"a key has to be one", authentication.Accounts{SigningKey: "text"}, "", document{}, "creating the key of service account tokens: string is not a key that signs"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			text, ok, err := authentication.NewIssuer(c.options).Document(false, c.address)
			said := ""
			if err != nil {
				said = err.Error()
			}
			var got document
			if ok {
				if err := json.Unmarshal(text.JSON, &got); err != nil {
					t.Fatal(err)
				}
			}
			if said != c.err || got != c.want {
				t.Errorf("got %+v, %q, want %+v, %q", got, said, c.want, c.err)
			}
		})
	}
	audiences := authentication.NewIssuer(authentication.Accounts{URLs: []string{"https://a.example"}, Audiences: []string{"vault", "api"}}).Audiences()
	if diff := cmp.Diff([]string{"vault", "api"}, []string(audiences)); diff != "" {
		t.Errorf("audiences (-want +got)\n%s", diff)
	}
}

// A certificate of the right authority may still be none that counts.
func TestCertificatesThatDoNotCount(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	make := func(template, parent *x509.Certificate) *x509.Certificate {
		t.Helper()
		template.SerialNumber = big.NewInt(1)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		made, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	now := time.Now()
	self := &x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	authority := make(self, self)
	pool := x509.NewCertPool()
	pool.AddCert(authority)
	jane := func(change func(*x509.Certificate)) *x509.Certificate {
		template := &x509.Certificate{
			Subject: pkix.Name{CommonName: "jane", Organization: []string{"dev"}}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		change(template)
		return make(template, authority)
	}
	tampered := jane(func(*x509.Certificate) {})
	tampered.Signature[len(tampered.Signature)-1] ^= 1
	for _, c := range []struct {
		rule        string
		certificate *x509.Certificate
		want        string
	}{
		{"one that is good", jane(func(*x509.Certificate) {}), "jane of dev,system:authenticated"},
		{"one that has expired", jane(func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Minute) }), "refused"},
		{"one that is not good yet", jane(func(c *x509.Certificate) { c.NotBefore = now.Add(time.Minute) }), "refused"},
		{"one for servers", jane(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), "refused"},
		{"one that names nobody leaves who has it anonymous", jane(func(c *x509.Certificate) { c.Subject = pkix.Name{} }), "system:anonymous of system:unauthenticated"},
		{"one that was tampered with", tampered, "refused"},
	} {
		users, err := authentication.NewAuthenticator(t.Context(), "secret", authentication.NewIssuer(authentication.Accounts{}), authentication.Users{ClientCA: func() *x509.CertPool { return pool }, Anonymous: true}, storetest.Open(t, store.Options{}), storetest.Prefix, time.Now, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			req := request("")
			req.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c.certificate}}
			got := "refused"
			if by, ok, err := users.Authenticate(req); ok && err == nil {
				got = by.GetName() + " of " + strings.Join(by.GetGroups(), ",")
			}
			if got != c.want {
				t.Errorf("%s: %s, want %s", c.rule, got, c.want)
			}
		}
	}
}
