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

// customFields knows who owns which field of a custom resource in one version, or of a
// subresource of it. Where the engine declines it asks upstream's field manager.
type customFields struct {
	codec    *codec
	engine   func() *fields.Engine
	upstream resource.FieldManager
}

// newCustomFields is what a version of a definition knows of its fields. The fields to
// reset are those that the endpoint ignores, by apiVersion.
func newCustomFields(types func() (managedfields.TypeConverter, error), c *codec, subresource string, reset map[string][]string) *customFields {
	return &customFields{c, sync.OnceValue(func() *fields.Engine {
		e := &fields.Engine{
			APIVersion: c.kind.GroupVersion().String(), Kind: c.kind.Kind, Subresource: subresource,
			Trees: map[string]*fields.Tree{}, Reset: map[string]*fields.Set{}, Convert: c.convertTree,
		}
		for version, s := range c.schemas {
			e.Trees[c.kind.Group+"/"+version] = s.owned()
		}
		for apiVersion, names := range reset {
			e.Reset[apiVersion] = fields.NewSet(names...)
		}
		return e
	}), upstreamFields(types, c, subresource, reset)}
}

// ownedTree says how the fields of objects of a schema are owned. A schema that is not
// structural says nothing of it.
func (s *compiledSchema) ownedTree(props *apiextensions.JSONSchemaProps, preserveUnknown bool) *fields.Tree {
	if s.structural == nil || validation.SchemaHasInvalidTypes(props) || len(structuralschema.ValidateStructural(nil, s.structural)) > 0 {
		return fields.NewBareTree()
	}
	return fields.NewTree(s.node, preserveUnknown)
}

// convertTree is a copy of an object in another version.
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
func (f *customFields) Update(current, obj runtime.Object, manager string, now metav1.Time) (runtime.Object, error) {
	live, is := current.(*unstructured.Unstructured).Object, obj.(*unstructured.Unstructured).Object
	managed, ok := f.codec.owners.of(live)
	if !ok {
		return f.upstream.Update(current, obj, manager, now)
	}
	e := f.engine()
	before, ok := e.Before(is, managed)
	if !ok {
		return f.upstream.Update(current, obj, manager, now)
	}
	result := e.Update(live, is, before, manager, now.Time)
	if result.Declined != "" {
		return f.upstream.Update(current, obj, manager, now)
	}
	setOwners(is["metadata"].(map[string]any), result.Managed) // Before has seen that it is a map
	f.codec.owners.remember(live, result.Managed)
	return obj, nil
}

// Apply implements resource.Fields.
func (f *customFields) Apply(current runtime.Object, configuration *unstructured.Unstructured, manager string, force bool, now metav1.Time) (runtime.Object, error) {
	live := current.(*unstructured.Unstructured).Object
	managed, ok := f.codec.owners.of(live)
	if !ok {
		return f.upstream.Apply(current, configuration, manager, force, now)
	}
	result, err := f.engine().Apply(live, configuration.Object, managed, manager, force, now.Time)
	switch {
	case err != nil:
		return nil, err
	case result.Declined != "":
		return f.upstream.Apply(current, configuration, manager, force, now)
	}
	f.codec.owners.remember(live, result.Managed)
	if result.Object == nil {
		return &unstructured.Unstructured{Object: withOwners(live, result.Managed)}, nil
	}
	u := &unstructured.Unstructured{Object: withOwners(result.Object, result.Managed)}
	f.codec.setDefaults(u)
	return u, nil
}

// withOwners is a copy of an object with other owners.
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

// owners remembers who owns the fields of the objects that were written last, so that
// their managedFields need not be read again. An entry is used only for an object whose
// managedFields equal it: if two forks share a version, neither can tell. It is safe for
// concurrent use.
type owners struct {
	mu   sync.Mutex
	last map[string]*fields.Managed // by uid
}

// maxOwners bounds how many objects are remembered; then all are forgotten.
const maxOwners = 1024

// of are the owners of the fields of an object; not ok: they cannot be told.
func (o *owners) of(obj map[string]any) (m *fields.Managed, ok bool) {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return fields.Nobody, obj["metadata"] == nil
	}
	tree, _ := metadata["managedFields"].([]any)
	if uid, _ := metadata["uid"].(string); uid != "" && len(tree) > 0 {
		o.mu.Lock()
		m = o.last[uid]
		o.mu.Unlock()
		if m != nil && m.Is(tree) {
			return m, true
		}
	}
	return fields.ParseManaged(tree)
}

// remember notes who is to own the fields of an object from now on.
func (o *owners) remember(live map[string]any, m *fields.Managed) {
	metadata, _ := live["metadata"].(map[string]any)
	uid, _ := metadata["uid"].(string)
	if uid == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil || len(o.last) >= maxOwners {
		o.last = map[string]*fields.Managed{}
	}
	o.last[uid] = m
}
