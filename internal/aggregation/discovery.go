package aggregation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints"
	clientdiscovery "k8s.io/client-go/discovery"

	"github.com/fakecluster/fakecluster/internal/discovery"
)

// discoveryTimeout is the time limit for the resources of a server.
const discoveryTimeout = 5 * time.Second

// Discover requests the resources of all servers' versions concurrently. A version whose server does not answer is stale
// and has no resources.
func (r *Registry) Discover(ctx context.Context) []discovery.Foreign {
	servers := r.Servers()
	foreign := make([]discovery.Foreign, len(servers))
	var group sync.WaitGroup
	for i, s := range servers {
		group.Go(func() { foreign[i] = s.discover(ctx) })
	}
	group.Wait()
	return foreign
}

func (s *Server) discover(ctx context.Context) discovery.Foreign {
	spec := s.APIService.Spec
	found := discovery.Foreign{
		Group: spec.Group, GroupPriority: int(spec.GroupPriorityMinimum), VersionPriority: int(spec.VersionPriority),
		Version: apidiscoveryv2.APIVersionDiscovery{Version: spec.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessStale},
	}
	resources, err := s.resources(ctx)
	if err == nil {
		found.Version.Freshness, found.Version.Resources = apidiscoveryv2.DiscoveryFreshnessCurrent, resources
	}
	return found
}

// aggregatedKind is the kind of aggregated discovery at /apis.
var aggregatedKind = schema.GroupVersionKind{Group: apidiscoveryv2.GroupName, Version: "v2", Kind: "APIGroupDiscoveryList"}

// resources returns the resources of the version, from aggregated discovery or, if the server
// does not have that, from the document of the version.
func (s *Server) resources(ctx context.Context) ([]apidiscoveryv2.APIResourceDiscovery, error) {
	answer := s.fetch(ctx, discoverer, "/apis", clientdiscovery.AcceptV2, discoveryTimeout)
	aggregated, _ := clientdiscovery.ContentTypeIsGVK(answer.header.Get("Content-Type"), aggregatedKind)
	switch {
	case answer.code == http.StatusServiceUnavailable:
		return nil, fmt.Errorf("%s: %s", s.APIService.Name, answer.body)
	case answer.code == http.StatusOK && aggregated:
		return s.fromAggregated(answer.body)
	}
	answer = s.fetch(ctx, discoverer, rootOf(s.APIService), runtime.ContentTypeJSON, discoveryTimeout)
	if answer.code != http.StatusOK {
		return nil, fmt.Errorf("%s: %d %s", s.APIService.Name, answer.code, answer.body)
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(answer.body, &list); err != nil {
		return nil, err
	}
	return endpoints.ConvertGroupVersionIntoToDiscovery(list.APIResources)
}

func (s *Server) fromAggregated(document []byte) ([]apidiscoveryv2.APIResourceDiscovery, error) {
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(document, &list); err != nil {
		return nil, err
	}
	for _, g := range list.Items {
		for _, v := range g.Versions {
			if g.Name == s.APIService.Spec.Group && v.Version == s.APIService.Spec.Version {
				return withKinds(v.Resources), nil
			}
		}
	}
	return nil, nil
}

// withKinds sets an empty kind in resources without one, on which old clients rely.
func withKinds(resources []apidiscoveryv2.APIResourceDiscovery) []apidiscoveryv2.APIResourceDiscovery {
	for i := range resources {
		if resources[i].ResponseKind == nil {
			resources[i].ResponseKind = &metav1.GroupVersionKind{}
		}
		for j := range resources[i].Subresources {
			if resources[i].Subresources[j].ResponseKind == nil {
				resources[i].Subresources[j].ResponseKind = &metav1.GroupVersionKind{}
			}
		}
	}
	return resources
}
