package crd

import (
	"maps"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/fakecluster/fakecluster/internal/fields"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// customFields manages the fields of a custom resource in one version, or of its subresource. Where the engine declines,
// it calls upstream's field manager.
type customFields struct {
	codec    *codec
	engine   func() *fields.Engine
	upstream resource.FieldManager
}

// newCustomFields returns the field management of a version of a definition. reset has the fields that the endpoint
// ignores, by apiVersion.
func newCustomFields(types func() (managedfields.TypeConverter, error), c *codec, subresource string, reset map[string][]string) *customFields {
	return &customFields{c, sync.OnceValue(func() *fields.Engine {
		e := &fields.Engine{
			APIVersion: c.kind.GroupVersion().String(), Kind: c.kind.Kind, Subresource: subresource,
			Trees: map[string]*fields.Tree{}, Reset: map[string]fields.Filter{}, Convert: c.convertTree,
		}
		for version, s := range c.schemas {
			e.Trees[c.kind.Group+"/"+version] = s.owned()
		}
		for apiVersion, names := range reset {
			e.Reset[apiVersion] = fields.Excluding(fields.NewSet(names...))
		}
		return e
	}), upstreamFields(types, c, subresource, reset)}
}

// ownedTree returns the tree for field ownership. A schema that is not structural has none.
func (s *compiledSchema) ownedTree(props *apiextensions.JSONSchemaProps, preserveUnknown bool) *fields.Tree {
	if s.structural == nil || validation.SchemaHasInvalidTypes(props) || len(structuralschema.ValidateStructural(nil, s.structural)) > 0 {
		return fields.NewBareTree()
	}
	return fields.NewTree(s.node, preserveUnknown)
}

// convertTree returns a copy of an object in another version.
func (c *codec) convertTree(obj map[string]any, apiVersion string) (map[string]any, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	converted, err := objectConverter{c}.ConvertToVersion(&unstructured.Unstructured{Object: obj}, version)
	if err != nil {
		return nil, err
	}
	return converted.(*unstructured.Unstructured).Object, nil
}

// Update implements resource.Fields.
func (f *customFields) Update(current resource.Decoded, obj runtime.Object, manager string, now metav1.Time) (runtime.Object, *fields.Managed, error) {
	live, wanted := current.Object.(*unstructured.Unstructured).Object, obj.(*unstructured.Unstructured).Object
	managed, ok := current.OwnersInMap()
	if !ok {
		return f.upstream.Update(current, obj, manager, now)
	}
	e := f.engine()
	before, ok := e.Before(wanted, managed)
	if !ok {
		return f.upstream.Update(current, obj, manager, now)
	}
	metadata := wanted["metadata"].(map[string]any) // Before has checked the type
	sent, had := metadata["managedFields"]
	delete(metadata, "managedFields") // a conversion webhook gets the new object without them
	result := e.Update(live, wanted, before, manager, now.Time)
	if result.Declined != "" {
		if had {
			metadata["managedFields"] = sent
		}
		return f.upstream.Update(current, obj, manager, now)
	}
	setOwners(metadata, result.Managed)
	return obj, result.Managed, nil
}

// Apply implements resource.Fields.
func (f *customFields) Apply(current resource.Decoded, configuration *unstructured.Unstructured, manager string, force bool, now metav1.Time) (runtime.Object, *fields.Managed, error) {
	live := current.Object.(*unstructured.Unstructured).Object
	managed, ok := current.OwnersInMap()
	if !ok {
		return f.upstream.Apply(current, configuration, manager, force, now)
	}
	result, err := f.engine().Apply(live, configuration.Object, managed, manager, force, now.Time)
	switch {
	case err != nil:
		return nil, nil, err
	case result.Declined != "":
		return f.upstream.Apply(current, configuration, manager, force, now)
	}
	if result.Object == nil {
		return &unstructured.Unstructured{Object: withOwners(live, result.Managed)}, result.Managed, nil
	}
	u := &unstructured.Unstructured{Object: withOwners(result.Object, result.Managed)}
	return u, result.Managed, f.codec.setDefaults(u)
}

// withOwners returns a copy of an object with the given owners.
func withOwners(obj map[string]any, managed *fields.Managed) map[string]any {
	obj = maps.Clone(obj)
	metadata, _ := obj["metadata"].(map[string]any)
	if metadata = maps.Clone(metadata); metadata == nil {
		metadata = map[string]any{}
	}
	delete(metadata, "managedFields") // they are not copied
	obj["metadata"] = metadata
	obj = runtime.DeepCopyJSON(obj)
	setOwners(obj["metadata"].(map[string]any), managed)
	return obj
}

func setOwners(metadata map[string]any, managed *fields.Managed) {
	if tree := managed.Tree(); tree != nil {
		metadata["managedFields"] = tree
	} else {
		delete(metadata, "managedFields")
	}
}
