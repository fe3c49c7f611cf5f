package authentication

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	upstream "k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	certutil "k8s.io/client-go/util/cert"

	"github.com/fakecluster/fakecluster/internal/bubble"
	"github.com/fakecluster/fakecluster/internal/manifests"
)

// OpenID has the issuers of ID tokens that a cluster trusts.
type OpenID struct {
	issuers    []apiserver.JWTAuthenticator
	algorithms []string
	own        []string // the URLs of the cluster's own issuer, which others cannot have
	from       *authenticationFile
}

// authenticationFile is the file with the issuers.
type authenticationFile struct {
	path      string
	read      manifests.Stamp
	data      []byte
	anonymous *apiserver.AnonymousAuthConfig
}

// OpenIDFlags are the flags --oidc-* of kube-apiserver.
type OpenIDFlags struct {
	IssuerURL, ClientID           string
	UsernameClaim, UsernamePrefix string
	GroupsClaim, GroupsPrefix     string
	CAFile                        string
	SigningAlgs                   []string
	RequiredClaims                map[string]string
}

// ReadAuthentication reads the file of the flag --authentication-config. own are the issuers of the tokens of service
// accounts. The errors are those of a real server.
func ReadAuthentication(file string, own []string) (*OpenID, *apiserver.AnonymousAuthConfig, error) {
	from := &authenticationFile{path: file, read: manifests.StampOf(file)}
	var err error
	if from.data, err = manifests.ReadFile(file); err != nil {
		return nil, nil, cannotLoad(file, err)
	}
	config, err := parseAuthentication(from.data)
	if err != nil {
		return nil, nil, cannotLoad(file, err)
	}
	o, err := newOpenID(config, upstream.AllValidSigningAlgorithms(), own)
	if err != nil {
		return nil, nil, err
	}
	from.anonymous = config.Anonymous
	o.from = from
	return o, config.Anonymous, nil
}

func cannotLoad(file string, err error) error {
	return fmt.Errorf("failed to load authentication configuration from file %q: %w", file, err)
}

func parseAuthentication(text []byte) (*apiserver.AuthenticationConfiguration, error) {
	if len(text) == 0 {
		return nil, errors.New("empty config data")
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	obj, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), text)
	if err != nil {
		return nil, err
	}
	config, ok := obj.(*apiserver.AuthenticationConfiguration)
	if !ok {
		return nil, fmt.Errorf("expected AuthenticationConfiguration, got %T", obj)
	}
	return config, nil
}

// NewOpenID returns the OpenID for the issuer in the flags.
func NewOpenID(f OpenIDFlags, own []string) (*OpenID, error) {
	prefix := f.UsernamePrefix
	switch {
	case prefix == "-":
		prefix = ""
	case prefix == "" && f.UsernameClaim != "email":
		prefix = f.IssuerURL + "#"
	}
	issuer := apiserver.JWTAuthenticator{
		Issuer:        apiserver.Issuer{URL: f.IssuerURL, Audiences: []string{f.ClientID}},
		ClaimMappings: apiserver.ClaimMappings{Username: apiserver.PrefixedClaimOrExpression{Prefix: &prefix, Claim: f.UsernameClaim}},
	}
	if f.GroupsClaim != "" {
		issuer.ClaimMappings.Groups = apiserver.PrefixedClaimOrExpression{Prefix: &f.GroupsPrefix, Claim: f.GroupsClaim}
	}
	if f.CAFile != "" {
		authority, err := manifests.ReadFile(f.CAFile)
		if err != nil {
			return nil, err
		}
		issuer.Issuer.CertificateAuthority = string(authority)
	}
	for claim, value := range f.RequiredClaims {
		issuer.ClaimValidationRules = append(issuer.ClaimValidationRules, apiserver.ClaimValidationRule{Claim: claim, RequiredValue: value})
	}
	return newOpenID(&apiserver.AuthenticationConfiguration{JWT: []apiserver.JWTAuthenticator{issuer}}, f.SigningAlgs, own)
}

func newOpenID(config *apiserver.AuthenticationConfiguration, algorithms, own []string) (*OpenID, error) {
	if err := validation.ValidateAuthenticationConfiguration(authenticationcel.NewDefaultCompiler(), config, own).ToAggregate(); err != nil {
		return nil, fmt.Errorf("invalid authentication configuration: %w", err)
	}
	for i, issuer := range config.JWT {
		if issuer.Issuer.EgressSelectorType != "" {
			return nil, fmt.Errorf("invalid authentication configuration: fakecluster does not have jwt[%d].issuer.egressSelectorType: issuers are called directly", i)
		}
	}
	o := &OpenID{issuers: config.JWT, algorithms: algorithms, own: own}
	_, err := o.tokens(context.Background()) // find other errors at the start
	return o, err
}

// Tokens returns the authenticator of ID tokens. It fetches the keys of an issuer for the first token. The context ends
// with the server.
func (o *OpenID) Tokens(closing context.Context) (authenticator.Token, error) {
	by, err := o.tokens(closing)
	if err != nil || o.from == nil {
		return by, err
	}
	return newReloadingTokens(closing, o, by), nil
}

// tokens is Tokens for the current issuers.
func (o *OpenID) tokens(closing context.Context) (authenticator.Token, error) {
	var authenticators []authenticator.Token
	for _, issuer := range o.issuers {
		client, err := clientOf(issuer.Issuer)
		if err != nil {
			return nil, err
		}
		keys := &remoteKeys{closing: oidc.ClientContext(closing, client), issuer: issuer.Issuer.URL}
		issuer.Issuer.DiscoveryURL = "" // the client has it
		token, err := upstream.New(closing, upstream.Options{
			JWTAuthenticator: issuer, KeySet: keys, Client: client, SupportedSigningAlgs: o.algorithms, DisallowedIssuers: o.own,
		})
		if err != nil {
			return nil, err
		}
		authenticators = append(authenticators, token)
	}
	return tokenunion.New(authenticators...), nil
}

// clientOf returns a client for requests to an issuer. It does not keep connections, which would outlive the cluster.
func clientOf(issuer apiserver.Issuer) (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: bubble.DialContext, ForceAttemptHTTP2: true, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second}
	if issuer.CertificateAuthority != "" {
		roots, err := certutil.NewPoolFromBytes([]byte(issuer.CertificateAuthority))
		if err != nil {
			//lint:ignore ST1005 the real server says it so
			return nil, fmt.Errorf("Failed to read the CA contents: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	if issuer.DiscoveryURL != "" {
		to, err := url.Parse(issuer.DiscoveryURL)
		if err != nil {
			return nil, fmt.Errorf("oidc: invalid discovery URL: %w", err)
		}
		client.Transport = discovery{transport, strings.TrimSuffix(issuer.URL, "/") + "/.well-known/openid-configuration", to}
	}
	return client, nil
}

// discovery sends requests for the discovery document of an issuer to another address.
type discovery struct {
	next http.RoundTripper
	from string
	to   *url.URL
}

// RoundTrip implements http.RoundTripper.
func (d discovery) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet && req.URL.String() == d.from {
		req = req.Clone(req.Context())
		req.Host, req.URL = "", d.to
	}
	return d.next.RoundTrip(req)
}

// remoteKeys has the public keys of an issuer. Upstream fetches them in the background; here each token tries until they
// have been fetched.
type remoteKeys struct {
	closing context.Context
	issuer  string
	found   atomic.Pointer[oidc.KeySet]
}

// VerifySignature implements oidc.KeySet.
func (k *remoteKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	keys := k.found.Load()
	if keys == nil {
		provider, err := oidc.NewProvider(k.closing, k.issuer)
		if err != nil {
			return nil, fmt.Errorf("oidc: %w", err)
		}
		var document struct {
			Keys string `json:"jwks_uri"`
		}
		if err := provider.Claims(&document); err != nil {
			return nil, fmt.Errorf("oidc: the document of %s: %w", k.issuer, err)
		}
		remote := oidc.NewRemoteKeySet(k.closing, document.Keys)
		keys = &remote
		k.found.Store(keys)
	}
	return (*keys).VerifySignature(ctx, token)
}
