package authentication

import (
	"crypto/x509"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/bubble"
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

// WebhookConfig returns the configuration of the client of a webhook, from a kubeconfig. It sets Proxy to keep the transport
// out of client-go's cache, which belongs to the process: clusters in several bubbles cannot share connections.
func WebhookConfig(file string) (*rest.Config, error) {
	config, err := webhookutil.LoadKubeconfig(file, bubble.DialContext)
	if err == nil && config.Proxy == nil {
		config.Proxy = http.ProxyFromEnvironment
	}
	return config, err
}

// NewTokenWebhook returns an authenticator that gets the users of tokens from a webhook. file is a kubeconfig for the
// webhook. Its answers are cached for the ttl. Tokens without audiences are for the audiences of the issuer.
func NewTokenWebhook(file, version string, ttl time.Duration, issuer Accounts) (authenticator.Token, error) {
	client, err := WebhookConfig(file)
	if err != nil {
		return nil, err
	}
	by, err := webhook.New(client, version, NewIssuer(issuer).Audiences(), WebhookBackoff)
	if err != nil {
		return nil, err
	}
	return cache.New(by, false, ttl, ttl), nil
}
