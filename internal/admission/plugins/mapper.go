package plugins

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/admission"
)

// mapper maps kinds to resources. The other methods of the interface are nil.
type mapper struct {
	meta.RESTMapper
	cluster admission.Cluster
}

// RESTMappings implements meta.RESTMapper.
func (m mapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	var found []*meta.RESTMapping
	for _, version := range versions {
		r := m.cluster.Registry().Kind(kind.WithVersion(version))
		if r == nil {
			continue
		}
		v := r.Version(version)
		if v == nil || !v.Served {
			continue
		}
		scope := meta.RESTScopeRoot
		if r.Namespaced {
			scope = meta.RESTScopeNamespace
		}
		found = append(found, &meta.RESTMapping{Resource: v.GroupVersionResource(), GroupVersionKind: v.Kind(), Scope: scope})
	}
	if len(found) == 0 {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return found, nil
}
