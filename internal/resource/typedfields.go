package resource

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fakecluster/fakecluster/internal/fields"
)

// Managing configures the field management of a kind with Go types, in one version.
type Managing struct {
	Scheme *runtime.Scheme
	Kind   schema.GroupVersionKind
	// Hub is the version of the arguments and results.
	Hub         schema.GroupVersion
	Subresource string
	Types       *Types
	// Reset has filters that leave out the fields that the endpoint ignores, by apiVersion. Filters are the same in
	// upstream's form.
	Reset   map[string]fields.Filter
	Filters map[fieldpath.APIVersion]fieldpath.Filter
}

// TypedFields manages the fields of a kind with Go types. Where the engine declines, it
// calls upstream's field manager. It is safe for concurrent use.
type TypedFields struct {
	Managing
	objects  runtime.ObjectConvertor
	engine   func() (*fields.Engine, error)
	upstream FieldManager
}

// NewTypedFields returns the field management of a kind.
func NewTypedFields(m Managing) *TypedFields {
	f := &TypedFields{Managing: m, objects: runtime.UnsafeObjectConvertor(m.Scheme)}
	f.engine = sync.OnceValues(f.newEngine)
	f.upstream = sync.OnceValues(func() (*managedfields.FieldManager, error) {
		types, err := m.Types.Converter()
		if err != nil {
			return nil, err
		}
		return managedfields.NewDefaultFieldManager(types, f.objects, m.Scheme, m.Scheme, m.Kind, m.Hub, m.Subresource, m.Filters)
	})
	return f
}

// Upstream returns upstream's field manager of the same kind.
func (f *TypedFields) Upstream() FieldManager { return f.upstream }

func (f *TypedFields) newEngine() (*fields.Engine, error) {
	trees, err := f.Types.Trees()
	if err != nil {
		return nil, err
	}
	none, err := f.Scheme.New(f.Kind)
	if err != nil {
		return nil, err
	}
	none.GetObjectKind().SetGroupVersionKind(f.Kind)
	empty, err := Tree(none)
	if err != nil {
		return nil, err
	}
	return &fields.Engine{
		APIVersion: f.Kind.GroupVersion().String(), Kind: f.Kind.Kind, Subresource: f.Subresource,
		Trees: trees, Reset: f.Reset, Convert: f.convertTree, Empty: empty, Listed: true,
	}, nil
}

// Update implements Fields.
func (f *TypedFields) Update(current Decoded, obj runtime.Object, manager string, now metav1.Time) (runtime.Object, *fields.Managed, error) {
	live, created, err := f.startFrom(current.Object)
	if err != nil {
		return nil, nil, err
	}
	declined := func() (runtime.Object, *fields.Managed, error) {
		obj, err := f.upstream.update(live, obj, manager)
		return obj, nil, err
	}
	managed, ok := current.Owners()
	if !ok {
		return declined()
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, err
	}
	e, err := f.engine()
	if err != nil {
		return nil, nil, err
	}
	before, ok := e.BeforeList(metadata.GetManagedFields(), managed)
	if !ok {
		return declined()
	}
	if before.IsEmpty() && !created {
		metadata.SetManagedFields(nil) // a new object has no managers
		return obj, fields.NoManagers, nil
	}
	views := f.views(live, obj)
	if live != current.Object {
		views = f.viewsOfNew(e.Empty, live, obj)
	}
	result := e.UpdateViews(views, before, manager, now.Time)
	if result.Declined != "" {
		return declined()
	}
	metadata.SetManagedFields(result.Managed.List())
	return obj, result.Managed, nil
}

// views returns views of two objects in any version.
func (f *TypedFields) views(live, obj runtime.Object) fields.Views {
	return func(apiVersion string) (map[string]any, map[string]any, error) {
		a, err := f.versioned(live, apiVersion)
		if err != nil {
			return nil, nil, err
		}
		b, err := f.versioned(obj, apiVersion)
		if err != nil {
			return nil, nil, err
		}
		if apiVersion == f.Kind.GroupVersion().String() && !f.Types.Keyless() {
			return differAsRead(a, b)
		}
		// Upstream rejects an object in another version with duplicate items in a list, and in any version with an item
		// that lacks all keys, even if the list has not changed.
		return treesAsRead(a, b)
	}
}

// viewsOfNew returns views of a new object and of the empty one from which it is created. There are no former items of
// lists to compare.
func (f *TypedFields) viewsOfNew(empty map[string]any, live, obj runtime.Object) fields.Views {
	return func(apiVersion string) (map[string]any, map[string]any, error) {
		if apiVersion != f.Kind.GroupVersion().String() {
			return f.views(live, obj)(apiVersion)
		}
		out, err := f.requested(obj)
		if err != nil {
			return nil, nil, err
		}
		created, err := Tree(out)
		return empty, created, err
	}
}

// Apply implements Fields.
func (f *TypedFields) Apply(current Decoded, configuration *unstructured.Unstructured, manager string, force bool, now metav1.Time) (runtime.Object, *fields.Managed, error) {
	live, _, err := f.startFrom(current.Object)
	if err != nil {
		return nil, nil, err
	}
	declined := func() (runtime.Object, *fields.Managed, error) {
		obj, err := f.upstream.apply(live, configuration, manager, force)
		return obj, nil, err
	}
	managed, ok := current.Owners()
	if !ok {
		return declined()
	}
	e, err := f.engine()
	if err != nil {
		return nil, nil, err
	}
	requested, err := f.requested(live)
	if err != nil {
		return nil, nil, err
	}
	before, err := Tree(requested)
	if err != nil {
		return nil, nil, err
	}
	result, err := e.Apply(before, configuration.Object, managed, manager, force, now.Time)
	switch {
	case err != nil:
		return nil, nil, err
	case result.Declined != "":
		return declined()
	}
	obj := current.Object
	if result.Object != nil {
		changed, err := f.object(result.Object)
		if err != nil {
			return declined()
		}
		f.Scheme.Default(changed)
		if obj, err = f.objects.ConvertToVersion(changed, f.Hub); err != nil {
			return nil, nil, err
		}
	} else {
		obj = obj.DeepCopyObject()
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, err
	}
	metadata.SetManagedFields(result.Managed.List())
	return obj, result.Managed, nil
}

// startFrom returns the object from which a change starts. For a create that is an empty object of the version, not of
// the internal type: the latter has values for fields that a client can leave out, such as "replicas: 0", and the
// manager would own them.
func (f *TypedFields) startFrom(current runtime.Object) (live runtime.Object, created bool, err error) {
	metadata, err := meta.Accessor(current)
	if err != nil || metadata.GetUID() != "" || metadata.GetResourceVersion() != "" {
		return current, metadata != nil && metadata.GetUID() == "", err
	}
	live, err = f.Scheme.New(f.Kind)
	return live, true, err
}

// versioned returns an object in a version, without its managedFields. The result may share parts with obj.
func (f *TypedFields) versioned(obj runtime.Object, apiVersion string) (runtime.Object, error) {
	out, err := f.requested(obj)
	if err != nil || apiVersion == f.Kind.GroupVersion().String() {
		return out, err
	}
	// As upstream does, convert it from its JSON in the version of the request.
	text, err := Tree(out)
	if err != nil {
		return nil, err
	}
	if out, err = f.object(text); err != nil {
		return nil, err
	}
	return f.convert(out, apiVersion)
}

// requested returns an object in the version of the request, without its managedFields.
func (f *TypedFields) requested(obj runtime.Object) (runtime.Object, error) {
	out, err := converted(f.objects, obj, f.Hub, f.Kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	metadata, err := meta.Accessor(out)
	if err != nil {
		return nil, err
	}
	metadata.SetManagedFields(nil)
	return out, nil
}

// convert converts an object from the version of the request to another version.
func (f *TypedFields) convert(obj runtime.Object, apiVersion string) (runtime.Object, error) {
	to, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	hub, err := f.objects.ConvertToVersion(obj, schema.GroupVersion{Group: f.Kind.Group, Version: f.Hub.Version})
	if err != nil {
		return nil, err
	}
	return f.objects.ConvertToVersion(hub, to)
}

// convertTree returns a tree in another version.
func (f *TypedFields) convertTree(obj map[string]any, apiVersion string) (map[string]any, error) {
	typed, err := f.object(obj)
	if err != nil {
		return nil, err
	}
	out, err := f.convert(typed, apiVersion)
	if err != nil {
		return nil, err
	}
	return Tree(out)
}

// object returns the object for a tree in the version of the request.
func (f *TypedFields) object(tree map[string]any) (runtime.Object, error) {
	obj, err := f.Scheme.New(f.Kind)
	if err != nil {
		return nil, err
	}
	return obj, runtime.DefaultUnstructuredConverter.FromUnstructured(tree, obj)
}
