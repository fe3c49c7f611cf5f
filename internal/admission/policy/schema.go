package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// resolve returns the published schema of a kind, with all references resolved.
func resolve(kind schema.GroupVersionKind, c *resource.Registry) (*spec.Schema, error) {
	v := versionOf(c, kind)
	if v == nil || v.OpenAPI == nil {
		return nil, errNoSchema
	}
	schemas, err := v.OpenAPI.SchemasOf()
	if err != nil {
		return nil, err
	}
	for name, s := range schemas {
		if !isOf(s, kind) {
			continue
		}
		return resolver.PopulateRefs(func(ref string) (*spec.Schema, bool) {
			s, ok := schemas[ref[strings.LastIndexByte(ref, '/')+1:]]
			return s, ok
		}, name)
	}
	return nil, errNoSchema
}

// isOf reports whether a schema describes a kind.
func isOf(s *spec.Schema, kind schema.GroupVersionKind) bool {
	kinds, _ := s.Extensions["x-kubernetes-group-version-kind"].([]any)
	for _, k := range kinds {
		key, _ := k.(map[string]any)
		if key["group"] == kind.Group && key["version"] == kind.Version && key["kind"] == kind.Kind {
			return true
		}
	}
	return false
}
