package auth_test

import (
	"context"
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
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/fakecluster/fakecluster/internal/auth"
	"github.com/fakecluster/fakecluster/restoptions"
)

// clientOf makes a request with a certificate that an authority has given to jane of the group dev.
func clientOf(t *testing.T, authority *auth.Authority) *http.Request {
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
	theirs, err := auth.NewAuthority("theirs")
	if err != nil {
		t.Fatal(err)
	}
	strangers, err := auth.NewAuthority("strangers")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := auth.NewAuthenticator(t.Context(), "another", auth.NewIssuer(restoptions.Accounts{}), restoptions.Users{}, newWorld(t).store, prefixOf, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	tokens := tokenfile.New(map[string]*user.DefaultInfo{"of-jane": {Name: "jane", UID: "7", Groups: []string{"dev"}}})
	jane := "jane of dev,system:authenticated"
	for _, c := range []struct {
		rule    string
		options restoptions.Users
		request *http.Request
		want    string
	}{
		{"a certificate of the authority names the user and its groups", restoptions.Users{ClientCA: theirs.Pool}, clientOf(t, theirs), jane},
		{"one of another authority is refused", restoptions.Users{ClientCA: theirs.Pool}, clientOf(t, strangers), "refused"},
		{"wrong credentials do not make a user anonymous", restoptions.Users{ClientCA: theirs.Pool, Anonymous: true}, clientOf(t, strangers), "refused"},
		{"nor does a certificate for another cluster", restoptions.Users{Anonymous: true}, withCertificate(t, elsewhere.CertificateFor), "refused"},
		{"nor if others have an authority, too", restoptions.Users{ClientCA: theirs.Pool, Anonymous: true}, withCertificate(t, elsewhere.CertificateFor), "refused"},
		{"without the option there is no other authority", restoptions.Users{}, clientOf(t, theirs), "refused"},
		{"a token is looked up", restoptions.Users{Tokens: tokens}, request("of-jane"), jane},
		{"an unknown token is refused", restoptions.Users{Tokens: tokens, Anonymous: true}, request("of-joe"), "refused"},
		{"the cluster's own token remains", restoptions.Users{Tokens: tokens}, request("secret"), "kubernetes-admin of system:masters,system:authenticated"},
		{"without credentials nobody comes in", restoptions.Users{}, request(""), "refused"},
		{"unless it is allowed", restoptions.Users{Anonymous: true}, request(""), "system:anonymous of system:unauthenticated"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			users, err := auth.NewAuthenticator(t.Context(), "secret", auth.NewIssuer(restoptions.Accounts{}), c.options, newWorld(t).store, prefixOf, time.Now, nil)
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
		options restoptions.Accounts
		address string
		want    document
		err     string
	}{
		{"without options it is kubeadm's", restoptions.Accounts{}, "", document{auth.IssuerURL, auth.IssuerURL + "/openid/v1/jwks"}, ""},
		{"a server with TLS has the keys", restoptions.Accounts{}, "127.0.0.1:443", document{auth.IssuerURL, "https://127.0.0.1:443/openid/v1/jwks"}, ""},
		{"the first URL issues", restoptions.Accounts{URLs: []string{"https://a.example/", "https://b.example"}, SigningKey: key}, "", document{"https://a.example/", "https://a.example/openid/v1/jwks"}, ""},
		{"the keys may be elsewhere", restoptions.Accounts{URLs: []string{"https://a.example"}, JWKSURI: "https://keys.example"}, "127.0.0.1:443", document{"https://a.example", "https://keys.example"}, ""},
		{"an issuer that is not a URL has no documents", restoptions.Accounts{URLs: []string{"kubernetes/serviceaccount"}}, "", document{}, ""},
		{"a key has to be one", restoptions.Accounts{SigningKey: "text"}, "", document{}, "making the key of service account tokens: string is not a key that signs"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			text, ok, err := auth.NewIssuer(c.options).Document(false, c.address)
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
	audiences := auth.NewIssuer(restoptions.Accounts{URLs: []string{"https://a.example"}, Audiences: []string{"vault", "api"}}).Audiences()
	if diff := cmp.Diff([]string{"vault", "api"}, []string(audiences)); diff != "" {
		t.Errorf("audiences (-want +got)\n%s", diff)
	}
}

func TestModes(t *testing.T) {
	for _, c := range []struct {
		rule  string
		modes []string
		jane  string
		admin string
		err   string
	}{
		{"RBAC is the mode", nil, "NoOpinion", "Allow", ""},
		{"AlwaysAllow allows", []string{"AlwaysAllow"}, "Allow", "Allow", ""},
		{"AlwaysDeny allows members of system:masters alone", []string{"AlwaysDeny"}, "NoOpinion alwaysdeny: Everything is forbidden.", "Allow", ""},
		{"the first mode with an opinion decides", []string{"AlwaysDeny", "RBAC", "AlwaysAllow"}, "Allow", "Allow", ""},
		{"Node has no opinion about those who are not nodes", []string{"Node", "AlwaysDeny"}, "NoOpinion alwaysdeny: Everything is forbidden.", "Allow", ""},
		{"ABAC needs its policies", []string{"ABAC"}, "", "", "authorization-mode ABAC's authorization policy file not passed"},
		{"Webhook needs to know where it is", []string{"Webhook"}, "", "", "authorization-mode Webhook's authorization config file not passed"},
		{"a mode is refused that there is not", []string{"Dice"}, "", "", `authorization-mode "Dice" is not a valid mode`},
		{"and one that is given twice", []string{"RBAC", "RBAC"}, "", "", `authorization-mode ["RBAC" "RBAC"] has mode specified more than once`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			modes, err := auth.NewModes(restoptions.Modes{Modes: c.modes})
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("error %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t)
			by, err := modes.By(w.rules)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(u user.Info) string {
				decision, reason, err := by.Authorize(context.Background(), authorizer.AttributesRecord{User: u, Verb: "get", Path: "/"})
				if err != nil {
					t.Error(err)
				}
				said := map[authorizer.Decision]string{authorizer.DecisionAllow: "Allow", authorizer.DecisionDeny: "Deny", authorizer.DecisionNoOpinion: "NoOpinion"}[decision]
				if decision != authorizer.DecisionAllow && reason != "" {
					said += " " + reason
				}
				return said
			}
			if got := ask(&user.DefaultInfo{Name: "jane"}); got != c.jane {
				t.Errorf("jane: %s, want %s", got, c.jane)
			}
			if got := ask(auth.Admin); got != c.admin {
				t.Errorf("the administrator: %s, want %s", got, c.admin)
			}
		})
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
		users, err := auth.NewAuthenticator(t.Context(), "secret", auth.NewIssuer(restoptions.Accounts{}), restoptions.Users{ClientCA: func() *x509.CertPool { return pool }, Anonymous: true}, newWorld(t).store, prefixOf, time.Now, nil)
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
