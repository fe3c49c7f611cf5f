package clientgo

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// InProcessURL is the host in the rest.Config of a cluster without a URL. Nothing listens
// there, and the name never resolves. The in-process transport ignores it.
const InProcessURL = "http://fakecluster.invalid"

// Access is the address of a cluster and the credentials of a client.
type Access struct {
	// URL is the address of the server, with its scheme. If it is empty, the cluster has
	// no socket and is reached through Transport only.
	URL string
	// Token is the bearer token. If it is empty, requests are sent without one.
	Token string
	// CAData is the PEM of the authority that signed the server's certificate. If it is
	// empty, the system's authorities are used.
	CAData []byte
	// ServerName is the name for which the server's certificate must be valid, and that the client sends in
	// the TLS handshake (SNI). If it is empty, it is the host of URL.
	ServerName string
	// Transport sends the requests. For a cluster without a URL it is one of [InProcess]. If it is nil,
	// client-go makes its own. If it is set, RESTConfig leaves out CAData and ServerName, because client-go
	// rejects a configuration with both; the transport has its own TLS configuration.
	Transport http.RoundTripper
}

// RESTConfig returns a new rest.Config on each call. It does not limit the rate (QPS is -1), so that tests do
// not wait for client-go's rate limiter. It disables compression, which costs more than it saves on the
// loopback device.
func (a Access) RESTConfig() *rest.Config {
	cfg := &rest.Config{
		Host:               a.URL,
		BearerToken:        a.Token,
		QPS:                -1,
		DisableCompression: true,
		Transport:          a.Transport,
	}
	if cfg.Host == "" {
		cfg.Host = InProcessURL
	}
	if a.Transport == nil {
		cfg.CAData, cfg.ServerName = slices.Clone(a.CAData), a.ServerName
	}
	return cfg
}

// name is the name of the cluster, the user and the context in a kubeconfig.
const name = "fakecluster"

// Kubeconfig returns a complete kubeconfig in YAML, for kubectl and other programs in other
// processes. It fails for a cluster without a URL, which no other process can reach. It also
// fails for a token with a URL that is not https: programs that read a kubeconfig (kubectl,
// clientcmd) send credentials over HTTPS only, and would get a 401.
func (a Access) Kubeconfig() ([]byte, error) {
	if a.URL == "" {
		return nil, errors.New("clientgo: no kubeconfig for an in-process cluster: other processes cannot reach it")
	}
	if a.Token != "" && !strings.HasPrefix(a.URL, "https://") {
		return nil, errors.New("clientgo: no kubeconfig for a cluster with a token over plain HTTP: kubectl and clientcmd send credentials over https only")
	}
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			name: {Server: a.URL, CertificateAuthorityData: a.CAData, TLSServerName: a.ServerName, DisableCompression: true},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			name: {Token: a.Token},
		},
		Contexts: map[string]*clientcmdapi.Context{
			name: {Cluster: name, AuthInfo: name, Namespace: "default"},
		},
		CurrentContext: name,
	})
}
