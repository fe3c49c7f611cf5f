package resource

import (
	"reflect"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/fakecluster/fakecluster/internal/json"
)

// Patches returns the types of patches of a kind with Go types.
func (c *TypedCodec) Patches() Patches {
	return Patches{StrategicMerge: c.StrategicMerge, Merge: c.Merge}
}

// PatchedError is the error of a patch whose result cannot be decoded.
type PatchedError struct{ Err error }

func (e *PatchedError) Error() string { return e.Err.Error() }
func (e *PatchedError) Unwrap() error { return e.Err }

// StrategicMerge implements Patches.StrategicMerge for Go types. It converts only the fields that the patch has to maps
// and back.
func (c *TypedCodec) StrategicMerge(current runtime.Object, patch map[string]any, validate bool) (runtime.Object, error) {
	obj, err := c.versioned(current.DeepCopyObject())
	if err != nil {
		return nil, err
	}
	var patches patchedFields
	original, err := patches.read(reflect.ValueOf(obj), patch, nil)
	if err != nil {
		return nil, err
	}
	c.later.OmitFrom(original)
	patched, err := c.scheme.New(c.kind)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(original, patch, patched)
	if err != nil {
		return nil, err
	}
	c.later.Rename(merged)
	strict := c.later.Restore(fromTree(merged, patched, validate))
	if _, ok := runtime.AsStrictDecodingError(strict); strict != nil && !ok {
		return nil, &PatchedError{strict}
	}
	patches.move(reflect.ValueOf(obj), reflect.ValueOf(patched))
	c.scheme.Default(obj)
	if obj, err = c.convertor.ConvertToVersion(obj, c.hub); err != nil {
		return nil, err
	}
	return obj, strict
}

// fromTree sets the object to which obj points to a tree. With validate, it returns a strict decoding error for fields
// that the type does not have. Upstream's validation records all fields of each struct, so it only runs for its error.
func fromTree(tree map[string]any, obj runtime.Object, validate bool) error {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(tree, obj)
	if err != nil || !validate || hasFields(reflect.ValueOf(obj), tree) {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(tree, obj, true)
}

// hasFields reports whether the type of a value has all fields of its JSON. It may return false for a type that does.
func hasFields(v reflect.Value, tree any) bool {
	if v.Kind() == reflect.Pointer {
		return tree == nil || hasFields(v.Elem(), tree)
	}
	t := value.TypeReflectEntryOf(v.Type())
	if tree == nil || isScalar(v.Type()) || t.CanConvertFromUnstructured() {
		return true
	}
	switch tree := tree.(type) {
	case map[string]any:
		if v.Kind() == reflect.Map {
			return isScalar(v.Type().Elem()) || value.TypeReflectEntryOf(v.Type().Elem()).CanConvertFromUnstructured()
		}
		if v.Kind() != reflect.Struct {
			return false
		}
		for name, entry := range tree {
			f := t.Fields()[name]
			if f == nil || !hasFields(f.GetFrom(v), entry) {
				return false
			}
		}
		return true
	case []any:
		if v.Kind() != reflect.Slice || v.Len() != len(tree) {
			return false
		}
		for i, entry := range tree {
			if !hasFields(v.Index(i), entry) {
				return false
			}
		}
		return true
	}
	return false
}

// patchedFields are the paths of the fields that a strategic merge patch may change. An empty path is the whole object.
type patchedFields [][]*value.FieldCacheEntry

// read adds the fields of a patch for the struct to which v points, which is at a path. It returns their values as JSON.
func (p *patchedFields) read(v reflect.Value, patch map[string]any, path []*value.FieldCacheEntry) (map[string]any, error) {
	v = v.Elem()
	t := value.TypeReflectEntryOf(v.Type())
	names, whole := fieldsOfPatch(patch)
	if whole {
		*p = append(*p, path)
		tree, err := treeOf(v, t)
		if err != nil {
			return nil, err
		}
		return tree.(map[string]any), nil
	}
	tree := map[string]any{}
	for name := range names {
		f := t.Fields()[name]
		if f == nil {
			continue // a field that the type does not have
		}
		field, fieldPath := f.GetFrom(v), append(path[:len(path):len(path)], f)
		var err error
		below, isMap := patch[name].(map[string]any)
		switch pointer := asPointer(field); {
		case f.CanOmit(field):
			*p = append(*p, fieldPath)
		case isMap && pointer.IsValid() && !pointer.IsNil() && isPlainStruct(pointer.Type().Elem()) && !hasStrategy(v.Type(), name):
			tree[name], err = p.read(pointer, below, fieldPath)
		default:
			*p = append(*p, fieldPath)
			tree[name], err = treeOf(field, f.TypeEntry)
		}
		if err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// hasStrategy reports whether a strategic merge patch of a field of a struct does not simply merge its fields.
func hasStrategy(t reflect.Type, name string) bool {
	_, field, err := strategicpatch.PatchMetaFromStruct{T: t}.LookupPatchMetadataForStruct(name)
	return err != nil || strings.Join(field.GetPatchStrategies(), "") != "" // a field without one has an empty one
}

// asPointer returns a pointer, or a pointer to a struct with an address. Other values have none.
func asPointer(v reflect.Value) reflect.Value {
	switch {
	case v.Kind() == reflect.Pointer:
		return v
	case v.Kind() == reflect.Struct && v.CanAddr():
		return v.Addr()
	}
	return reflect.Value{}
}

// fieldsOfPatch returns the names of the fields that an object in a strategic merge patch changes. whole: it has a
// directive about all fields.
func fieldsOfPatch(patch map[string]any) (names map[string]bool, whole bool) {
	names = make(map[string]bool, len(patch))
	for name := range patch {
		if directive, field, ok := strings.Cut(name, "/"); ok && (directive == "$setElementOrder" || directive == "$deleteFromPrimitiveList") {
			name = field
		} else if strings.HasPrefix(name, "$") {
			return nil, true
		}
		names[name] = true
	}
	return names, false
}

// move sets the fields of the object to which obj points to those of patched.
func (p patchedFields) move(obj, patched reflect.Value) {
	for _, path := range p {
		to, from := obj.Elem(), patched.Elem()
		for _, f := range path {
			to, from = f.GetFrom(to), f.GetFrom(from)
		}
		to.Set(from)
	}
}

// Merge implements Patches.Merge for Go types. It decodes only the fields that the patch has. It declines unknown
// fields.
func (c *TypedCodec) Merge(current Decoded, patch []byte, _ bool) (Decoded, bool) {
	change := string(patch)
	if _, plain := json.Decode(change); !plain || c.later != nil {
		return Decoded{}, false
	}
	before, err := current.Encode(c)
	if err != nil {
		return Decoded{}, false
	}
	obj, err := c.versioned(current.Object.DeepCopyObject())
	if err != nil {
		return Decoded{}, false
	}
	if _, nested := obj.(runtime.NestedObjectDecoder); nested || !mergeFields(reflect.ValueOf(obj), before, change) || obj.GetObjectKind().GroupVersionKind() != c.kind {
		return Decoded{}, false
	}
	c.scheme.Default(obj)
	hub, err := c.convertor.ConvertToVersion(obj, c.hub)
	return Decoded{Object: hub}, err == nil
}

// mergeFields merges a patch into the struct to which v points, whose JSON is before. It reports whether it has succeeded.
func mergeFields(v reflect.Value, before, patch string) bool {
	v = v.Elem()
	fields := value.TypeReflectEntryOf(v.Type()).Fields()
	former := map[string]string{}
	gjson.Parse(before).ForEach(func(name, value gjson.Result) bool {
		former[name.String()] = value.Raw
		return true
	})
	ok := true
	gjson.Parse(patch).ForEach(func(name, change gjson.Result) bool {
		f := fields[name.String()]
		if f == nil {
			ok = false
			return false
		}
		field, old := f.GetFrom(v), former[name.String()]
		pointer := asPointer(field)
		switch {
		case change.Type == gjson.Null:
			field.SetZero()
		case change.IsObject() && strings.HasPrefix(old, "{") && pointer.IsValid() && !pointer.IsNil() && isPlainStruct(pointer.Type().Elem()):
			ok = mergeFields(pointer, old, change.Raw)
		default:
			fresh := reflect.New(field.Type())
			complaints, err := sigsjson.UnmarshalStrict(json.Merge(old, change.Raw), fresh.Interface())
			ok = err == nil && len(complaints) == 0
			field.Set(fresh.Elem())
		}
		return ok
	})
	return ok
}
