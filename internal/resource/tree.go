package resource

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Tree returns the JSON of an object with a Go type, as maps and lists. The result equals that of
// runtime.DefaultUnstructuredConverter, whose maps have room for all fields of a type.
func Tree(obj runtime.Object) (map[string]any, error) {
	v := reflect.ValueOf(obj).Elem()
	tree, err := treeOf(v, value.TypeReflectEntryOf(v.Type()))
	if err != nil {
		return nil, err
	}
	return tree.(map[string]any), nil
}

// treeOf returns the JSON of a value of a type.
func treeOf(v reflect.Value, t *value.TypeReflectCacheEntry) (any, error) {
	if t.CanConvertToUnstructured() {
		return ownTreeOf(v, t)
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() > math.MaxInt64 {
			return nil, fmt.Errorf("%d does not fit into an int64", v.Uint())
		}
		return int64(v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return v.Float(), nil
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		return treeOf(v.Elem(), value.TypeReflectEntryOf(v.Elem().Type()))
	case reflect.Slice:
		return listOf(v)
	case reflect.Map:
		if v.IsNil() {
			return nil, nil
		}
		m, t := make(map[string]any, v.Len()), value.TypeReflectEntryOf(v.Type().Elem())
		for entries := v.MapRange(); entries.Next(); {
			entry, err := treeOf(entries.Value(), t)
			if err != nil {
				return nil, err
			}
			m[entries.Key().String()] = entry
		}
		return m, nil
	case reflect.Struct:
		m := map[string]any{}
		for _, f := range t.OrderedFields() {
			field := f.GetFrom(v)
			if f.CanOmit(field) {
				continue
			}
			entry, err := treeOf(field, f.TypeEntry)
			if err != nil {
				return nil, err
			}
			m[f.JsonName] = entry
		}
		return m, nil
	}
	return nil, fmt.Errorf("%s has no JSON", v.Type())
}

// ownTreeOf returns the JSON of a value whose type makes it. It calls the method on a pointer if it can, because an
// interface with the value would have a copy of it.
func ownTreeOf(v reflect.Value, t *value.TypeReflectCacheEntry) (any, error) {
	pointer := asPointer(v)
	if !pointer.IsValid() || pointer.IsNil() {
		return t.ToUnstructured(v)
	}
	switch own := pointer.Interface().(type) {
	case value.UnstructuredConverterWithError:
		return own.ToUnstructuredWithError()
	case value.UnstructuredConverter:
		return own.ToUnstructured(), nil
	}
	return t.ToUnstructured(v)
}

// listOf returns the JSON of a slice.
func listOf(v reflect.Value) (any, error) {
	if v.IsNil() {
		return nil, nil
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return base64.StdEncoding.EncodeToString(v.Bytes()), nil
	}
	list, t := make([]any, v.Len()), value.TypeReflectEntryOf(v.Type().Elem())
	for i := range list {
		var err error
		if list[i], err = treeOf(v.Index(i), t); err != nil {
			return nil, err
		}
	}
	return list, nil
}
