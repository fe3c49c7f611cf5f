package fakecluster_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gopkg.in/go-jose/go-jose.v2"
	"gopkg.in/go-jose/go-jose.v2/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// provider is an issuer of ID tokens.
type provider struct {
	*httptest.Server
	t      *testing.T
	key    *ecdsa.PrivateKey
	caFile string
	reads  int // of its keys
}

// startProvider starts an issuer whose document is at a path.
func startProvider(t *testing.T, document string) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc(document, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		p.reads++
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "a", Algorithm: "ES256", Use: "sig"}}})
	})
	p.Server = httptest.NewTLSServer(mux)
	t.Cleanup(p.Close)
	p.caFile = put(t, t.TempDir(), "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})))
	return p
}

// token returns an ID token with the claims, and those that every token has.
func (p *provider) token(claims map[string]any) string {
	p.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: p.key}, (&jose.SignerOptions{}).WithHeader("kid", "a"))
	if err != nil {
		p.t.Fatal(err)
	}
	content := map[string]any{"iss": p.URL, "aud": "cluster", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	for name, value := range claims {
		content[name] = value
	}
	token, err := jwt.Signed(signer).Claims(content).CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return token
}

// bearerIs returns the name and the groups of the user of a token, or the error.
func bearerIs(t *testing.T, c *fakecluster.Cluster, token string) string {
	t.Helper()
	config := c.RESTConfig()
	config.BearerToken = token
	review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err.Error()
	}
	return review.Status.UserInfo.Username + " " + strings.Join(review.Status.UserInfo.Groups, ",")
}

func TestOpenIDConnectByFlags(t *testing.T) {
	p := startProvider(t, "/.well-known/openid-configuration")
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags(
		"--oidc-issuer-url="+p.URL, "--oidc-client-id=cluster", "--oidc-ca-file="+p.caFile, "--oidc-signing-algs=ES256",
		"--oidc-username-claim=name", "--oidc-username-prefix=oidc:", "--oidc-groups-claim=groups", "--oidc-groups-prefix=oidc:",
		"--oidc-required-claim=hd=example.com", "--authorization-mode=RBAC"))
	claims := map[string]any{"name": "jane", "groups": []string{"dev", "ops"}, "hd": "example.com"}
	expectText(t, "a token", bearerIs(t, c, p.token(claims)), "oidc:jane oidc:dev,oidc:ops,system:authenticated")
	claims["hd"] = "example.org"
	expectText(t, "without a required claim", bearerIs(t, c, p.token(claims)), "Unauthorized")
	claims["hd"], claims["aud"] = "example.com", "another"
	expectText(t, "for somebody else", bearerIs(t, c, p.token(claims)), "Unauthorized")
	claims["aud"], claims["exp"] = "cluster", time.Now().Add(-time.Hour).Unix()
	expectText(t, "an old token", bearerIs(t, c, p.token(claims)), "Unauthorized")
	delete(claims, "exp")
	other := startProvider(t, "/.well-known/openid-configuration")
	claims["iss"] = p.URL
	if p.reads != 1 {
		t.Errorf("the keys of the issuer were read %d times for its own tokens, want 1", p.reads)
	}
	// go-oidc reads the keys again for one that it does not know, unless it has not put the first ones aside yet.
	for attempt := 0; p.reads == 1 && attempt < 1000; attempt++ {
		expectText(t, "signed by another issuer", bearerIs(t, c, other.token(claims)), "Unauthorized")
	}
	if p.reads != 2 {
		t.Errorf("the keys of the issuer were read %d times, want 2: at first, and for the key that it does not know", p.reads)
	}
	fork := c.Fork(t)
	expectText(t, "a fork", bearerIs(t, fork, p.token(claims)), "oidc:jane oidc:dev,oidc:ops,system:authenticated")
}

// The issuer may have another address, claims may be mapped by CEL, and requests
// without credentials may be accepted for some paths.
func TestAuthenticationConfiguration(t *testing.T) {
	p := startProvider(t, "/elsewhere")
	file := put(t, t.TempDir(), "authentication.yaml", `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous: {enabled: true, conditions: [{path: /livez}]}
jwt:
- issuer:
    url: `+p.URL+`
    discoveryURL: `+p.URL+`/elsewhere
    audiences: [cluster, another]
    audienceMatchPolicy: MatchAny
    certificateAuthority: |
      `+strings.ReplaceAll(strings.TrimSpace(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}))), "\n", "\n      ")+`
  claimMappings:
    username: {expression: "'id:' + claims.sub"}
    groups: {expression: "claims.roles"}
  claimValidationRules: [{expression: "claims.sub != 'eve'", message: eve may not}]
  userValidationRules: [{expression: "!user.username.startsWith('id:system:')", message: no system}]
`)
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags("--authentication-config="+file))
	expectText(t, "a token", bearerIs(t, c, p.token(map[string]any{"sub": "jane", "roles": []string{"a", "b"}})), "id:jane a,b,system:authenticated")
	expectText(t, "for another audience of the list", bearerIs(t, c, p.token(map[string]any{"aud": "another", "sub": "jane", "roles": []string{"a"}})), "id:jane a,system:authenticated")
	expectText(t, "a claim that a rule refuses", bearerIs(t, c, p.token(map[string]any{"sub": "eve", "roles": []string{"a"}})), "Unauthorized")
	expectText(t, "a user whom a rule refuses", bearerIs(t, c, p.token(map[string]any{"sub": "system:x", "roles": []string{"a"}})), "Unauthorized")
	for path, want := range map[string]int{"/livez": http.StatusOK, "/healthz": http.StatusUnauthorized, "/version": http.StatusUnauthorized} {
		res, err := http.Get(c.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s without credentials: %d, want %d", path, res.StatusCode, want)
		}
	}
}

// The first token after a change of the file is checked by the new content, also in a fork. A file with mistakes changes nothing.
func TestAuthenticationConfigurationIsReadAgain(t *testing.T) {
	one, two := startProvider(t, "/.well-known/openid-configuration"), startProvider(t, "/.well-known/openid-configuration")
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
	trust := func(p *provider, prefix string) string {
		authority := strings.TrimSpace(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})))
		return head + "jwt:\n- issuer:\n    url: " + p.URL + "\n    audiences: [cluster]\n    certificateAuthority: |\n      " +
			strings.ReplaceAll(authority, "\n", "\n      ") + "\n  claimMappings: {username: {claim: sub, prefix: '" + prefix + "'}}\n"
	}
	folder := t.TempDir()
	file := put(t, folder, "authentication.yaml", trust(one, "a:"))
	c := fakecluster.Start(t, fakecluster.WithAPIServerFlags("--authentication-config="+file))
	fork := c.Fork(t)
	for _, test := range []struct {
		rule, content  string
		ofOne, ofOther string
	}{
		{"the content at the start", trust(one, "a:"), "a:jane system:authenticated", "Unauthorized"},
		{"another prefix", trust(one, "b:"), "b:jane system:authenticated", "Unauthorized"},
		{"another issuer", trust(two, "c:"), "Unauthorized", "c:jane system:authenticated"},
		{"a mistake", head + "x: 1\n", "Unauthorized", "c:jane system:authenticated"},
		{"an empty file", "", "Unauthorized", "c:jane system:authenticated"},
		{"a change for requests without credentials", head + "anonymous: {enabled: true}\n", "Unauthorized", "c:jane system:authenticated"},
		{"no issuers", head, "Unauthorized", "Unauthorized"},
		{"the first content again", trust(one, "a:"), "a:jane system:authenticated", "Unauthorized"},
	} {
		put(t, folder, "authentication.yaml", test.content)
		for name, cluster := range map[string]*fakecluster.Cluster{"the cluster": c, "a fork": fork} {
			of1, of2 := bearerIs(t, cluster, one.token(map[string]any{"sub": "jane"})), bearerIs(t, cluster, two.token(map[string]any{"sub": "jane"}))
			if of1 != test.ofOne || of2 != test.ofOther {
				t.Errorf("%s, %s: %q and %q, want %q and %q", test.rule, name, of1, of2, test.ofOne, test.ofOther)
			}
		}
	}
}

func TestAuthenticationThatIsRefused(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		return put(t, folder, name, "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"+text)
	}
	const issuer = "jwt:\n- issuer: {url: 'https://a', audiences: [b]%s}\n  claimMappings: {username: {claim: sub, prefix: ''}}\n"
	plain := file("plain", strings.Replace(issuer, "%s", "", 1))
	for _, c := range []struct {
		rule  string
		flags []string
		err   string
	}{
		{"an issuer without a client", []string{"--oidc-issuer-url=https://a"}, "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"},
		{"a file and flags", []string{"--authentication-config=" + plain, "--oidc-client-id=a"}, "authentication-config file and oidc-* flags are mutually exclusive"},
		{"no HTTPS", []string{"--oidc-issuer-url=http://a", "--oidc-client-id=a"},
			`invalid authentication configuration: jwt[0].issuer.url: Invalid value: "http://a": URL scheme must be https`},
		{"an unknown algorithm", []string{"--oidc-issuer-url=https://a", "--oidc-client-id=a", "--oidc-signing-algs=HS256"}, `oidc: unsupported signing alg: "HS256"`},
		{"anonymous twice", []string{"--authentication-config=" + file("anonymous", "anonymous: {enabled: true}"), "--anonymous-auth=true"},
			"anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file"},
		{"an unknown field", []string{"--authentication-config=" + file("unknown", "x: 1")},
			`failed to load authentication configuration from file "` + folder + `/unknown": strict decoding error: unknown field "x"`},
		{"a proxy", []string{"--authentication-config=" + file("egress", strings.Replace(issuer, "%s", ", egressSelectorType: cluster", 1))},
			"invalid authentication configuration: fakecluster does not have jwt[0].issuer.egressSelectorType: issuers are called directly"},
		{"no file", []string{"--authentication-config=" + folder + "/none"},
			`failed to load authentication configuration from file "` + folder + `/none": open ` + folder + `/none: no such file or directory`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			cluster, err := fakecluster.New(fakecluster.WithAPIServerFlags(c.flags...))
			if err == nil {
				cluster.Close()
				t.Fatal("it is accepted")
			}
			expectText(t, "the error", strings.TrimPrefix(err.Error(), "WithAPIServerFlags: "), c.err)
		})
	}
}
