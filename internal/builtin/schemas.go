package builtin

import (
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// definitionsV3 describes all types, with references as OpenAPI v3 has them. Making these
// descriptions takes longer than any use of them, so the process makes them once.
var definitionsV3 = sync.OnceValue(func() map[string]common.OpenAPIDefinition {
	return openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + common.EscapeJsonPointer(name))
	})
})

// forBuilding returns definitions for one build of a document. A builder of kube-openapi
// writes to the extensions of the definitions it is given, so each build gets its own.
func forBuilding(definitions map[string]common.OpenAPIDefinition) map[string]common.OpenAPIDefinition {
	own := make(map[string]common.OpenAPIDefinition, len(definitions))
	for name, d := range definitions {
		d.Schema.Extensions = maps.Clone(d.Schema.Extensions)
		own[name] = d
	}
	return own
}

const kindsExtension = "x-kubernetes-group-version-kind"

func kindExtension(k schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}
}

// modelName is the name that OpenAPI knows the type of a kind by.
func modelName(scheme *runtime.Scheme, kind schema.GroupVersionKind) (string, error) {
	example, err := scheme.New(kind)
	if err != nil {
		return "", err
	}
	return util.GetCanonicalTypeName(example), nil
}

// modelsV3 returns the schemas of kinds and of all types in them, by name. The schema of a
// kind names the kind in an extension.
func modelsV3(scheme *runtime.Scheme, kinds []schema.GroupVersionKind) (map[string]*spec.Schema, error) {
	names := make([]string, len(kinds))
	extensions := map[string]spec.Extensions{}
	for i, kind := range kinds {
		var err error
		if names[i], err = modelName(scheme, kind); err != nil {
			return nil, err
		}
		extensions[names[i]] = spec.Extensions{kindsExtension: []any{kindExtension(kind)}}
	}
	models, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		Definitions:       forBuilding(definitionsV3()),
		GetDefinitionName: func(name string) (string, spec.Extensions) { return name, extensions[name] },
	}, names...)
	if err != nil {
		return nil, fmt.Errorf("schemas of %v: %w", kinds, err)
	}
	return models, nil
}

// schemas returns what server-side apply knows of kinds.
func schemas(scheme *runtime.Scheme, kinds []schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	models, err := modelsV3(scheme, kinds)
	if err != nil {
		return nil, err
	}
	return managedfields.NewTypeConverter(models, false)
}

// fieldManager makes the field manager of a kind, or of a subresource of it. The field
// manager leaves out the fields that the strategy ignores.
func (g *group) fieldManager(kind schema.GroupVersionKind, subresource string, strategy any) resource.Fields {
	hub := schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}
	scheme := g.typesOf()
	return owners{scheme, kind, sync.OnceValues(func() (*managedfields.FieldManager, error) {
		types, err := g.types()
		if err != nil {
			return nil, err
		}
		return managedfields.NewDefaultFieldManager(types, runtime.UnsafeObjectConvertor(scheme), scheme, scheme, kind, hub, subresource, resetFields(strategy))
	})}
}

// owners is upstream's field manager for a kind with internal types.
type owners struct {
	scheme *runtime.Scheme
	kind   schema.GroupVersionKind
	resource.FieldManager
}

// Update implements resource.Fields.
func (o owners) Update(current, obj runtime.Object, manager string, now metav1.Time) (runtime.Object, error) {
	current, err := o.startFrom(current)
	if err != nil {
		return nil, err
	}
	return o.FieldManager.Update(current, obj, manager, now)
}

// Apply implements resource.Fields.
func (o owners) Apply(current runtime.Object, configuration *unstructured.Unstructured, manager string, force bool, now metav1.Time) (runtime.Object, error) {
	current, err := o.startFrom(current)
	if err != nil {
		return nil, err
	}
	return o.FieldManager.Apply(current, configuration, manager, force, now)
}

// startFrom returns the object that a change starts from. For a create that is an empty
// object of the version. An empty object of the internal type would not do: it has values
// for fields that a client can leave out, such as "replicas: 0", and the manager would own
// them.
func (o owners) startFrom(current runtime.Object) (runtime.Object, error) {
	metadata, err := meta.Accessor(current)
	if err != nil || metadata.GetUID() != "" || metadata.GetResourceVersion() != "" {
		return current, err
	}
	return o.scheme.New(o.kind)
}

// kindsOf returns the kinds of a group in all versions in which objects may be served,
// stored or named by managedFields.
func (g *group) kindsOf() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	seen := map[schema.GroupVersionKind]bool{}
	for _, k := range g.kinds {
		for _, names := range [][]string{k.versions, k.optional, k.legacy} {
			for _, name := range names {
				if gvk := (schema.GroupVersionKind{Group: g.name, Version: name, Kind: k.kind}); !seen[gvk] {
					seen[gvk] = true
					all = append(all, gvk)
				}
			}
		}
	}
	return all
}
