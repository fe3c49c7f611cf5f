package clientgo

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// mapper is client-go's deferred discovery mapper, which queries the server again when a kind is
// missing. The deferred mapper does that only while its cache is not fresh, and client-go's
// memory cache is fresh from the first answer on. So it would never find the kind of a CRD that
// is created later.
type mapper struct {
	// It is not embedded, because its methods with a context would not query again.
	deferred *restmapper.DeferredDiscoveryRESTMapper
}

var _ meta.ResettableRESTMapper = mapper{}

func newMapper(disco discovery.DiscoveryInterface) mapper {
	return mapper{restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))}
}

// Reset drops the cached answers of discovery.
func (m mapper) Reset() { m.deferred.Reset() }

func (m mapper) ResourceSingularizer(resource string) (string, error) {
	return m.deferred.ResourceSingularizer(resource)
}

// retry repeats a lookup once with fresh discovery if it finds no match.
func retry[T any](m mapper, lookup func() (T, error)) (T, error) {
	found, err := lookup()
	if meta.IsNoMatchError(err) {
		m.Reset()
		found, err = lookup()
	}
	return found, err
}

func (m mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return retry(m, func() (schema.GroupVersionKind, error) {
		return m.deferred.KindFor(resource)
	})
}

func (m mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return retry(m, func() ([]schema.GroupVersionKind, error) {
		return m.deferred.KindsFor(resource)
	})
}

func (m mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return retry(m, func() (schema.GroupVersionResource, error) {
		return m.deferred.ResourceFor(input)
	})
}

func (m mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return retry(m, func() ([]schema.GroupVersionResource, error) {
		return m.deferred.ResourcesFor(input)
	})
}

func (m mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return retry(m, func() (*meta.RESTMapping, error) {
		return m.deferred.RESTMapping(gk, versions...)
	})
}

func (m mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return retry(m, func() ([]*meta.RESTMapping, error) {
		return m.deferred.RESTMappings(gk, versions...)
	})
}
