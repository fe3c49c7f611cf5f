package clientgo

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// mapper is the deferred discovery mapper, and asks the server again when
// something is missing. The deferred mapper alone does that only as long as its
// cache is not fresh, and client-go's memory cache calls itself fresh from the
// first answer on: a kind of a CRD that was created later would stay unknown.
type mapper struct {
	// Not embedded: its variants with a context would not ask again.
	deferred *restmapper.DeferredDiscoveryRESTMapper
}

var _ meta.ResettableRESTMapper = mapper{}

func newMapper(disco discovery.DiscoveryInterface) mapper {
	return mapper{restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))}
}

// Reset forgets what discovery said.
func (m mapper) Reset() { m.deferred.Reset() }

func (m mapper) ResourceSingularizer(resource string) (string, error) {
	return m.deferred.ResourceSingularizer(resource)
}

// again has lookup repeated, once, on fresh discovery if it found no match.
func again[T any](m mapper, lookup func() (T, error)) (T, error) {
	found, err := lookup()
	if meta.IsNoMatchError(err) {
		m.Reset()
		found, err = lookup()
	}
	return found, err
}

func (m mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return again(m, func() (schema.GroupVersionKind, error) {
		return m.deferred.KindFor(resource)
	})
}

func (m mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return again(m, func() ([]schema.GroupVersionKind, error) {
		return m.deferred.KindsFor(resource)
	})
}

func (m mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return again(m, func() (schema.GroupVersionResource, error) {
		return m.deferred.ResourceFor(input)
	})
}

func (m mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return again(m, func() ([]schema.GroupVersionResource, error) {
		return m.deferred.ResourcesFor(input)
	})
}

func (m mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return again(m, func() (*meta.RESTMapping, error) {
		return m.deferred.RESTMapping(gk, versions...)
	})
}

func (m mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return again(m, func() ([]*meta.RESTMapping, error) {
		return m.deferred.RESTMappings(gk, versions...)
	})
}
