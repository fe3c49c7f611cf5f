package authentication

import (
	"crypto/x509"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"
)

// FrontProxy says which proxies may name the user of a request in headers.
type FrontProxy struct {
	// CA returns the authorities for the certificates of the proxies, at each request those of that
	// moment.
	CA func() *x509.CertPool
	// Names are the common names that the certificates may have; none: any.
	Names []string
	// The headers that name the user.
	UserHeaders, UIDHeaders, GroupHeaders, ExtraPrefixes []string
}

// Authenticator returns what authenticates the requests of the proxies.
func (p FrontProxy) Authenticator() authenticator.Request {
	return headerrequest.NewDynamicVerifyOptionsSecure(
		clientCertificates(p.CA), headerrequest.StaticStringSlice(p.Names), headerrequest.StaticStringSlice(p.UserHeaders), headerrequest.StaticStringSlice(p.UIDHeaders),
		headerrequest.StaticStringSlice(p.GroupHeaders), headerrequest.StaticStringSlice(p.ExtraPrefixes))
}

// WebhookBackoff says when to ask a webhook again that could not be reached, as on a real server.
var WebhookBackoff = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}

// NewTokenWebhook makes an authenticator that asks a webhook for the users of tokens. The file is a
// kubeconfig that leads to the webhook. Its answers are cached for the ttl. Tokens without audiences
// are for the audiences of the issuer.
func NewTokenWebhook(file, version string, ttl time.Duration, issuer Accounts) (authenticator.Token, error) {
	client, err := webhookutil.LoadKubeconfig(file, nil)
	if err != nil {
		return nil, err
	}
	by, err := webhook.New(client, version, NewIssuer(issuer).Audiences(), WebhookBackoff)
	if err != nil {
		return nil, err
	}
	return cache.New(by, false, ttl, ttl), nil
}
