package clientgo

import (
	"fmt"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Clients are the clients that most tests need. They share one http.Client. They are safe for
// concurrent use.
type Clients struct {
	// Dynamic reads and writes objects of any kind.
	Dynamic dynamic.Interface
	// Discovery requests the groups, versions and resources that the server serves. It does not
	// cache them.
	Discovery discovery.DiscoveryInterface
	// Extensions reads and writes CustomResourceDefinitions.
	Extensions apiextensions.Interface
	// Mapper maps kinds to resources and back. It queries the server when it is first used,
	// and again for a kind or resource that it has not seen.
	Mapper meta.ResettableRESTMapper
}

// NewClients returns clients for a configuration. It does not change the configuration, and sends no request.
// It fails if client-go rejects the configuration.
func NewClients(cfg *rest.Config) (*Clients, error) {
	cfg = rest.CopyConfig(cfg)
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent() // up to its first slash it names the field manager of the clients' writes
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("clientgo: HTTP client: %w", err)
	}
	dyn, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("clientgo: dynamic client: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("clientgo: discovery client: %w", err)
	}
	ext, err := apiextensions.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("clientgo: apiextensions client: %w", err)
	}
	return &Clients{
		Dynamic:    dyn,
		Discovery:  disco,
		Extensions: ext,
		Mapper:     newMapper(disco),
	}, nil
}
