package fakecluster

import (
	"crypto/tls"
	"fmt"
	"sync"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

// frontProxy is the identity of the cluster as a front proxy: aggregated API servers accept the user names
// that it sends, as in a cluster of kubeadm.
type frontProxy struct {
	certificate *tls.Certificate
	info        map[string]string // of the ConfigMap extension-apiserver-authentication
}

// proxyOfProcess makes the front proxy of all clusters in which pods run, when it is first needed. Its
// authority signs nothing else, so no user's certificate is valid as that of the proxy.
var proxyOfProcess = sync.OnceValues(func() (*frontProxy, error) {
	authority, err := authentication.NewAuthority("front-proxy-ca")
	if err != nil {
		return nil, fmt.Errorf("making a certificate authority: %w", err)
	}
	const name = "front-proxy-client"
	certificate, key, err := authority.ClientCertificate(name)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	users, err := authentication.OfProcess()
	if err != nil {
		return nil, err
	}
	return &frontProxy{&pair, map[string]string{
		"client-ca-file":                     string(users.PEM()),
		"requestheader-client-ca-file":       string(authority.PEM()),
		"requestheader-allowed-names":        `["` + name + `"]`,
		"requestheader-username-headers":     `["X-Remote-User"]`,
		"requestheader-group-headers":        `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
	}}, nil
})

// ClientCertificate implements server.Services.
func (s *services) ClientCertificate() *tls.Certificate {
	if s.certificate != nil {
		return s.certificate()
	}
	if proxy := s.frontProxy.Load(); proxy != nil {
		return proxy.certificate
	}
	return nil
}

// AuthenticationInfo implements server.Services.
func (s *services) AuthenticationInfo() map[string]string {
	if proxy := s.frontProxy.Load(); proxy != nil {
		return proxy.info
	}
	return nil
}
