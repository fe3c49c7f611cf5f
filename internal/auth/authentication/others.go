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

// FrontProxy configures the proxies that may set the user of a request in headers.
type FrontProxy struct {
	// CA returns the authorities for the certificates of the proxies; it is called for each request.
	CA func() *x509.CertPool
	// Names are the common names that the certificates may have; none: any.
	Names []string
	// The headers with the user.
	UserHeaders, UIDHeaders, GroupHeaders, ExtraPrefixes []string
}

// Authenticator returns the authenticator of the proxies' requests.
func (p FrontProxy) Authenticator() authenticator.Request {
	return headerrequest.NewDynamicVerifyOptionsSecure(
		clientCertificates(p.CA), headerrequest.StaticStringSlice(p.Names), headerrequest.StaticStringSlice(p.UserHeaders), headerrequest.StaticStringSlice(p.UIDHeaders),
		headerrequest.StaticStringSlice(p.GroupHeaders), headerrequest.StaticStringSlice(p.ExtraPrefixes))
}

// WebhookBackoff is the backoff of calls of a webhook that cannot be reached, as on a real server.
var WebhookBackoff = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}

// NewTokenWebhook returns an authenticator that gets the users of tokens from a webhook. file is a kubeconfig for the
// webhook. Its answers are cached for the ttl. Tokens without audiences are for the audiences of the issuer.
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
