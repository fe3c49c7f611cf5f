package resource

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/fields"
)

// Types has the types of a kind with Go types, in all of its versions, for field management. They come from the OpenAPI
// definitions of the kind. Each part is created when it is first needed. It is safe for concurrent use.
type Types struct {
	kinds []schema.GroupVersionKind
	// Converter returns the types for upstream's field manager.
	Converter func() (managedfields.TypeConverter, error)
	// Trees returns the trees of the versions, by apiVersion.
	Trees func() (map[string]*fields.Tree, error)
	// Keyless reports whether items of a map-like list may lack all of their keys.
	Keyless func() bool
}

// NewTypes returns the Types of kinds in the scheme. The references in the definitions are those of OpenAPI v3.
func NewTypes(scheme *runtime.Scheme, definitions func() map[string]common.OpenAPIDefinition, kinds ...schema.GroupVersionKind) *Types {
	t := &Types{kinds: kinds}
	models := func() (map[string]*spec.Schema, error) { return Reachable(scheme, definitions(), kinds) }
	t.Converter = sync.OnceValues(func() (managedfields.TypeConverter, error) {
		schemas, err := models()
		if err != nil {
			return nil, err
		}
		return managedfields.NewTypeConverter(schemas, false)
	})
	t.Trees = sync.OnceValues(func() (map[string]*fields.Tree, error) {
		schemas, err := models()
		if err != nil {
			return nil, err
		}
		types, err := schemaconv.ToSchemaFromOpenAPI(schemas, false)
		if err != nil {
			return nil, err
		}
		trees := map[string]*fields.Tree{}
		for _, kind := range kinds {
			name, err := ModelName(scheme, kind)
			if err != nil {
				return nil, err
			}
			if trees[kind.GroupVersion().String()], err = fields.Compile(types, name); err != nil {
				return nil, err
			}
		}
		return trees, nil
	})
	t.Keyless = sync.OnceValue(func() bool {
		schemas, err := models()
		return err == nil && anyKeyless(schemas)
	})
	return t
}

// anyKeyless reports whether a type has a map-like list whose items may lack all keys, because none of the keys is required or has a default.
func anyKeyless(models map[string]*spec.Schema) bool {
	for _, model := range models {
		for _, property := range model.Properties {
			keys, _ := property.Extensions["x-kubernetes-list-map-keys"].([]any)
			if len(keys) == 0 || property.Items == nil || property.Items.Schema == nil {
				continue
			}
			url := property.Items.Schema.Ref.String()
			item := models[url[strings.LastIndexByte(url, '/')+1:]]
			if item != nil && !slices.ContainsFunc(keys, func(key any) bool {
				name, _ := key.(string)
				return slices.Contains(item.Required, name) || item.Properties[name].Default != nil
			}) {
				return true
			}
		}
	}
	return false
}

// ModelName returns the name of the type of a kind in OpenAPI.
func ModelName(scheme *runtime.Scheme, kind schema.GroupVersionKind) (string, error) {
	example, err := scheme.New(kind)
	if err != nil {
		return "", err
	}
	return util.GetCanonicalTypeName(example), nil
}

// Reachable returns the schemas of the kinds and of all types that they refer to, by name.
// The schema of a kind names the kind in an extension.
func Reachable(scheme *runtime.Scheme, definitions map[string]common.OpenAPIDefinition, kinds []schema.GroupVersionKind) (map[string]*spec.Schema, error) {
	models := map[string]*spec.Schema{}
	var add func(name string) error
	add = func(name string) error {
		if models[name] != nil {
			return nil
		}
		d, ok := definitions[name]
		if !ok {
			return fmt.Errorf("OpenAPI has no definition of %s", name)
		}
		own := d.Schema
		models[name] = &own
		for _, other := range d.Dependencies {
			if err := add(other); err != nil {
				return err
			}
		}
		return nil
	}
	for _, kind := range kinds {
		name, err := ModelName(scheme, kind)
		if err != nil {
			return nil, err
		}
		if err := add(name); err != nil {
			return nil, err
		}
		extensions := spec.Extensions{}
		maps.Copy(extensions, models[name].Extensions)
		extensions["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}}
		models[name].Extensions = extensions
	}
	return models, nil
}

// References returns a callback for references in the form of OpenAPI v3. It parses each reference once, because parsing
// is slow and types refer to the same few types.
func References() common.ReferenceCallback {
	made := map[string]spec.Ref{}
	return func(name string) spec.Ref {
		ref, ok := made[name]
		if !ok {
			ref = spec.MustCreateRef("#/components/schemas/" + common.EscapeJsonPointer(name))
			made[name] = ref
		}
		return ref
	}
}
