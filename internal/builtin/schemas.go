package builtin

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kubernetes/pkg/generated/openapi"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/fields"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// definitionsV3 describes all types, with references of OpenAPI v3. It is created once per process, because that is
// slow.
var definitionsV3 = sync.OnceValue(func() map[string]common.OpenAPIDefinition {
	definitions := openapi.GetOpenAPIDefinitions(resource.References())
	release.Correct(definitions)
	return definitions
})

// definitionsOfValues are definitionsV3 for field management, which reads Go values.
var definitionsOfValues = sync.OnceValue(func() map[string]common.OpenAPIDefinition {
	if release.Older() == "" {
		return definitionsV3()
	}
	definitions := openapi.GetOpenAPIDefinitions(resource.References())
	release.CorrectForValues(definitions)
	return definitions
})

// types returns the types of a kind for field management, in all versions in which objects may be served or stored, or
// that managedFields may contain. They are created once per process, because all clusters share the kinds.
func (k *kind) types(g *group) *resource.Types {
	key := schema.GroupKind{Group: g.name, Kind: k.kind}
	if cached, ok := kindTypes.Get(key); ok {
		return cached
	}
	var kinds []schema.GroupVersionKind
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(k.versions, k.optional, k.legacy)))) {
		kinds = append(kinds, key.WithVersion(name))
	}
	return kindTypes.Put(key, resource.NewTypes(g.typesOf(), definitionsOfValues, kinds...), 1)
}

// kindTypes caches the types of kinds. There are fewer than 100 kinds.
var kindTypes = cache.New[schema.GroupKind, *resource.Types](256)

// fields returns the field management of a kind, or of its subresource. It leaves out the fields that the strategy
// ignores.
func (k *kind) fields(g *group, version, subresource string, strategy any) resource.Fields {
	m := resource.Managing{
		Scheme: g.typesOf(), Kind: schema.GroupVersionKind{Group: g.name, Version: version, Kind: k.kind},
		Hub:   internalIn(g.name),
		Types: k.types(g), Subresource: subresource,
	}
	m.Reset, m.Filters = resetFields(strategy)
	return resource.NewTypedFields(m)
}

// resetFields returns the filters that leave out the fields that a strategy ignores, by apiVersion, in the forms of both
// field managers.
func resetFields(strategy any) (map[string]fields.Filter, map[fieldpath.APIVersion]fieldpath.Filter) {
	s, ok := strategy.(registryrest.ResetFieldsStrategy)
	if !ok {
		return nil, nil
	}
	ours := map[string]fields.Filter{}
	for version, out := range s.GetResetFields() {
		ours[string(version)] = fields.ExcludingPaths(out)
	}
	return ours, fieldpath.NewExcludeFilterSetMap(s.GetResetFields())
}
