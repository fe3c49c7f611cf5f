package auth

import (
	"crypto/x509"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"
)

// FrontProxy says which proxies may say in headers who makes a request.
type FrontProxy struct {
	// CA are the authorities for the certificates of the proxies.
	CA *x509.CertPool
	// Names are the common names that the certificates may have; none: any.
	Names []string
	// The headers that say who makes the request.
	UserHeaders, UIDHeaders, GroupHeaders, ExtraPrefixes []string
}

// Authenticator knows the users that the proxies name.
func (p FrontProxy) Authenticator() authenticator.Request {
	return headerrequest.NewDynamicVerifyOptionsSecure(
		func() (x509.VerifyOptions, bool) { return clientCertificates(p.CA), true },
		headerrequest.StaticStringSlice(p.Names), headerrequest.StaticStringSlice(p.UserHeaders), headerrequest.StaticStringSlice(p.UIDHeaders),
		headerrequest.StaticStringSlice(p.GroupHeaders), headerrequest.StaticStringSlice(p.ExtraPrefixes))
}

// NewTokenWebhook asks a webhook whose token one is. The file is a kubeconfig that says where the
// webhook is; its answers are good for a while. Tokens that are for nobody in particular are for the
// audiences of the issuer.
func NewTokenWebhook(file, version string, ttl time.Duration, issuer IssuerOptions) (authenticator.Token, error) {
	client, err := webhookutil.LoadKubeconfig(file, nil)
	if err != nil {
		return nil, err
	}
	by, err := webhook.New(client, version, NewIssuer(issuer).Audiences(), backoff)
	if err != nil {
		return nil, err
	}
	return cache.New(by, false, ttl, ttl), nil
}
