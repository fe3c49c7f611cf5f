package resource

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Sharing returns a copy of obj that shares equal slices, maps and pointers with like, which has the same type, and the
// others with obj. Code that compares the copy with like finds at once that a shared part is equal. Nothing may alter
// the copy.
func Sharing(obj, like runtime.Object) runtime.Object {
	from, to := reflect.ValueOf(obj), reflect.ValueOf(like)
	if from.Type() != to.Type() {
		return obj
	}
	return shareCopy(from, to).Interface().(runtime.Object)
}

// shareCopy is Sharing for pointers.
func shareCopy(from, like reflect.Value) reflect.Value {
	out := reflect.New(from.Type().Elem())
	out.Elem().Set(from.Elem())
	share(out.Elem(), like.Elem())
	return out
}

// share replaces the parts of a value that equal those of like by the parts of like. It does not alter what the value
// points to.
func share(v, like reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				share(v.Field(i), like.Field(i))
			}
		}
	case reflect.Map, reflect.Slice, reflect.Pointer:
		if v.IsNil() || like.IsNil() || v.Pointer() == like.Pointer() {
			return
		}
		if reflect.DeepEqual(v.Addr().Interface(), like.Addr().Interface()) {
			v.Set(like)
			return
		}
		switch {
		case v.Kind() == reflect.Pointer:
			v.Set(shareCopy(v, like))
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
			items := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(items, v)
			for i := range min(v.Len(), like.Len()) {
				share(items.Index(i), like.Index(i))
			}
			v.Set(items)
		}
	}
}
