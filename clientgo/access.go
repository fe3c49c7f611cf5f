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

// InProcessURL is the host in the rest.Config of a cluster without a URL. Nothing
// listens there, and .invalid never resolves; the transport ignores it.
const InProcessURL = "http://fakecluster.invalid"

// Access says where a cluster is and how to get in.
type Access struct {
	// URL is the server's, with its scheme. Empty: the cluster has no socket and
	// is reached through Transport alone.
	URL string
	// Token is the bearer token. Empty: none is sent.
	Token string
	// CAData is the PEM of the authority behind the server's certificate. Empty:
	// the system's authorities.
	CAData []byte
	// Transport carries the requests; it is an [InProcess] one for a cluster
	// without a URL. It does its own TLS: client-go refuses a transport beside
	// TLS options, so RESTConfig leaves CAData out where there is one. Nil:
	// client-go makes its own.
	Transport http.RoundTripper
}

// RESTConfig returns a new rest.Config on each call. Its client-side rate limit is
// off, because a test that waits for a client's rate limiter measures nothing, and
// so is compression, because compressing for the loopback device costs more than
// it saves.
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
		cfg.CAData = slices.Clone(a.CAData)
	}
	return cfg
}

// name is what cluster, user and context are called in a kubeconfig.
const name = "fakecluster"

// Kubeconfig returns a complete kubeconfig in YAML, for kubectl and whatever else
// runs in another process. Two kinds of cluster have none, and that is an error: one
// without a URL, because no other process can reach it; and one that asks for a
// token over plain HTTP, because what reads a kubeconfig (kubectl, clientcmd) leaves
// out all credentials unless the server's URL is https, and would get a 401.
func (a Access) Kubeconfig() ([]byte, error) {
	if a.URL == "" {
		return nil, errors.New("clientgo: no kubeconfig for an in-process cluster: it has no address that another process could reach")
	}
	if a.Token != "" && !strings.HasPrefix(a.URL, "https://") {
		return nil, errors.New("clientgo: no kubeconfig for a cluster with a token over plain HTTP: kubectl and clientcmd send credentials over https only")
	}
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			name: {Server: a.URL, CertificateAuthorityData: a.CAData, DisableCompression: true},
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
