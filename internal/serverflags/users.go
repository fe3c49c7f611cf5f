package serverflags

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/client-go/util/keyutil"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
)

func (c *Config) readUsers(flags *Flags) error {
	if path := flags.Text("client-ca-file"); path != "" {
		authorities, err := authentication.ReadAuthorities(path)
		if err != nil {
			return fmt.Errorf("--client-ca-file: %w", err)
		}
		c.Serving.clientCA, c.Users.ClientCA = authorities, authorities.Pool
	}
	if path := flags.Text("token-auth-file"); path != "" {
		tokens, err := tokenfile.NewCSV(path)
		if err != nil {
			return fmt.Errorf("--token-auth-file: %w", err)
		}
		c.Users.Tokens = tokens
	}
	if path := flags.Text("authentication-token-webhook-config-file"); path != "" {
		webhook, err := authentication.NewTokenWebhook(path, flags.Value("authentication-token-webhook-version"),
			flags.Duration("authentication-token-webhook-cache-ttl"), authentication.Accounts(c.Accounts))
		if err != nil {
			return fmt.Errorf("--authentication-token-webhook-config-file: %w", err)
		}
		c.Users.Webhook = webhook
	}
	c.Users.BootstrapTokens = flags.Bool("enable-bootstrap-token-auth")
	anonymous, err := c.readIssuers(flags)
	if err != nil {
		return err
	}
	if path := flags.Text("requestheader-client-ca-file"); path != "" {
		if err := c.readFrontProxy(path, flags); err != nil {
			return err
		}
	}
	if err := c.readProxyClient(flags); err != nil {
		return err
	}
	c.AuthenticationInfo = c.authenticationInfo()
	if err := c.readAuthorization(flags); err != nil {
		return err
	}
	configured := anonymous != nil || flags.Given("anonymous-auth")
	if anonymous == nil {
		anonymous = &apiserver.AnonymousAuthConfig{Enabled: flags.Given("anonymous-auth") && flags.Bool("anonymous-auth")}
	} else if flags.Given("anonymous-auth") {
		return errors.New("anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file")
	}
	alwaysAllowed := c.other.Authorization == authorization.AlwaysAllow || c.Modes != nil && c.Modes.Has(authorization.AlwaysAllow)
	// As on a real server, AlwaysAllow turns anonymous requests off.
	c.Users.Anonymous = anonymous.Enabled && !alwaysAllowed
	c.Users.NotAnonymous = configured && !c.Users.Anonymous
	for _, condition := range anonymous.Conditions {
		c.Users.AnonymousPaths = append(c.Users.AnonymousPaths, condition.Path)
	}
	return nil
}

// openID are the flags about one issuer of ID tokens.
var openID = []string{
	"oidc-issuer-url", "oidc-client-id", "oidc-ca-file", "oidc-username-claim", "oidc-username-prefix", "oidc-groups-claim", "oidc-groups-prefix",
	"oidc-signing-algs", "oidc-required-claim",
}

// readIssuers sets the issuers of accepted ID tokens. It returns the anonymous field of the file of
// --authentication-config; nil: none.
func (c *Config) readIssuers(flags *Flags) (*apiserver.AnonymousAuthConfig, error) {
	file, byFlags := flags.Text("authentication-config"), slices.ContainsFunc(openID, flags.Given)
	switch {
	case file != "" && byFlags:
		return nil, errors.New("authentication-config file and oidc-* flags are mutually exclusive")
	case file != "":
		issuers, anonymous, err := authentication.ReadAuthentication(file, c.Accounts.URLs)
		if err != nil {
			return nil, err
		}
		c.Users.OpenID = issuers.Tokens
		return anonymous, nil
	case !byFlags:
		return nil, nil
	}
	issuer := authentication.OpenIDFlags{
		IssuerURL: flags.Text("oidc-issuer-url"), ClientID: flags.Text("oidc-client-id"), CAFile: flags.Text("oidc-ca-file"),
		UsernameClaim: flags.Value("oidc-username-claim"), UsernamePrefix: flags.Text("oidc-username-prefix"),
		GroupsClaim: flags.Text("oidc-groups-claim"), GroupsPrefix: flags.Text("oidc-groups-prefix"),
		SigningAlgs: flags.List("oidc-signing-algs"), RequiredClaims: flags.Pairs("oidc-required-claim"),
	}
	if issuer.IssuerURL == "" || issuer.ClientID == "" {
		return nil, errors.New("oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set")
	}
	issuers, err := authentication.NewOpenID(issuer, c.Accounts.URLs)
	if err != nil {
		return nil, err
	}
	c.Users.OpenID = issuers.Tokens
	return nil, nil
}

// authenticationInfo returns a function that returns the data of the ConfigMap extension-apiserver-authentication: the
// current content of the authorities' files, and the headers of the front proxy. It returns nil if there are no
// authorities.
func (c *Config) authenticationInfo() func() map[string]string {
	clients, proxies, headers := c.Serving.clientCA, c.Serving.proxyCA, c.proxyHeaders
	if clients == nil && proxies == nil {
		return nil
	}
	return func() map[string]string {
		info := map[string]string{}
		if clients != nil {
			info["client-ca-file"] = clients.Bundle()
		}
		if proxies != nil {
			info["requestheader-client-ca-file"] = proxies.Bundle()
			maps.Copy(info, headers)
		}
		return info
	}
}

// readFrontProxy sets the trusted front proxy.
func (c *Config) readFrontProxy(path string, flags *Flags) error {
	authorities, err := authentication.ReadAuthorities(path)
	if err != nil {
		return fmt.Errorf("--requestheader-client-ca-file: %w", err)
	}
	c.Serving.proxyCA = authorities
	c.proxyHeaders = map[string]string{}
	for _, name := range []string{
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers", "requestheader-extra-headers-prefix", "requestheader-allowed-names",
	} {
		text, err := json.Marshal(append([]string{}, flags.List(name)...))
		if err != nil {
			return err
		}
		c.proxyHeaders[name] = string(text)
	}
	// Otherwise every user with a certificate could impersonate others by headers.
	if clients := c.Serving.clientCA; clients != nil && len(flags.List("requestheader-allowed-names")) == 0 && authorities.Overlaps(clients) {
		return errors.New("--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating proxy headers for arbitrary users")
	}
	p := authentication.FrontProxy{
		CA: authorities.Pool, Names: flags.List("requestheader-allowed-names"),
		UserHeaders: flags.List("requestheader-username-headers"), UIDHeaders: flags.List("requestheader-uid-headers"),
		GroupHeaders: flags.List("requestheader-group-headers"), ExtraPrefixes: flags.List("requestheader-extra-headers-prefix"),
	}
	c.Users.FrontProxy = p.Authenticator()
	return nil
}

// readProxyClient sets the client certificate for aggregated servers. As on a real server, one of the flags alone has no
// effect.
func (c *Config) readProxyClient(flags *Flags) error {
	cert, key := flags.Text("proxy-client-cert-file"), flags.Text("proxy-client-key-file")
	c.FrontProxy = c.Serving.proxyCA != nil || cert != "" || key != ""
	if cert == "" || key == "" {
		return nil
	}
	file, err := readCertificate(cert, key)
	if err != nil {
		return fmt.Errorf("--proxy-client-cert-file: %w", err)
	}
	c.ProxyClient = func() *tls.Certificate {
		pair, _ := file.current()
		return pair
	}
	return nil
}

// readAuthorization sets the authorizers.
func (c *Config) readAuthorization(flags *Flags) error {
	if !slices.ContainsFunc([]string{"authorization-mode", "authorization-config", "authorization-policy-file", "authorization-webhook-config-file"}, flags.Given) {
		return nil
	}
	switch {
	case c.other.Authorization != "":
		return errors.New("WithAuthorization and --authorization-mode say the same; give one of them")
	case c.other.Authorizer:
		return errors.New("WithAuthorizer and a mode of authorization exclude each other: one of them decides; leave one of them out")
	}
	modes, err := authorization.NewModes(authorization.Options{
		Modes: flags.List("authorization-mode"), PolicyFile: flags.Text("authorization-policy-file"), ConfigFile: flags.Text("authorization-config"),
		WebhookConfigFile: flags.Text("authorization-webhook-config-file"), WebhookVersion: flags.Value("authorization-webhook-version"),
		AuthorizedTTL: flags.Duration("authorization-webhook-cache-authorized-ttl"), UnauthorizedTTL: flags.Duration("authorization-webhook-cache-unauthorized-ttl"),
	})
	c.Modes = modes
	return err
}

func (c *Config) readAccounts(flags *Flags) (err error) {
	a := &c.Accounts
	a.URLs, a.Audiences, a.JWKSURI = flags.List("service-account-issuer"), flags.List("api-audiences"), flags.Text("service-account-jwks-uri")
	a.MaxExpiration, a.ExactExpiration = flags.Duration("service-account-max-token-expiration"), !flags.Bool("service-account-extend-token-expiration")
	if most := a.MaxExpiration; most != 0 && (most < time.Hour || most > (1<<32)*time.Second) {
		return errors.New("the service-account-max-token-expiration must be between 1 hour and 2^32 seconds")
	}
	if err := validIssuer(a.URLs, a.JWKSURI); err != nil {
		return err
	}
	key := flags.Text("service-account-signing-key-file")
	if len(a.URLs) > 0 && key == "" || key != "" && len(a.URLs) == 0 || key == "" && flags.Given("service-account-key-file") {
		return errors.New("--service-account-signing-key-file and --service-account-issuer are required flags")
	}
	if key != "" {
		if a.SigningKey, err = keyutil.PrivateKeyFromFile(key); err != nil {
			return fmt.Errorf("failed to parse service-account-issuer-key-file: %w", err)
		}
	}
	for _, path := range flags.List("service-account-key-file") {
		keys, err := keyutil.PublicKeysFromFile(path)
		if err != nil {
			return fmt.Errorf("--service-account-key-file: %w", err)
		}
		a.Keys = append(a.Keys, keys...)
	}
	return nil
}

// validIssuer checks the names of an issuer and the address of its keys.
func validIssuer(names []string, keys string) error {
	var wrong []error
	for i, name := range names {
		switch _, err := url.Parse(name); {
		case strings.Contains(name, ":") && err != nil:
			wrong = append(wrong, fmt.Errorf("service-account-issuer %q contained a ':' but was not a valid URL: %w", name, err))
		case name == "":
			wrong = append(wrong, errors.New("service-account-issuer should not be an empty string"))
		case slices.Contains(names[:i], name):
			wrong = append(wrong, fmt.Errorf("service-account-issuer %q is already specified", name))
		}
	}
	if keys != "" {
		if location, err := url.Parse(keys); err != nil {
			wrong = append(wrong, fmt.Errorf("service-account-jwks-uri must be a valid URL: %w", err))
		} else if location.Scheme != "https" {
			wrong = append(wrong, fmt.Errorf("service-account-jwks-uri requires https scheme, parsed as: %v", location))
		}
	}
	return utilerrors.NewAggregate(wrong)
}
