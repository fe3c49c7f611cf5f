package resource

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Sharing returns a copy of an object that shares with another one of its type what is equal, and the rest with the
// original. Code that compares the two sees at once that a slice, map or pointer is the same. Nothing may alter the copy.
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

// share replaces what is equal in a value by what the other value has. It does not alter what the value points to.
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
