package resource

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Differ returns the JSON of two objects of one type, as maps and lists, without most of the equal parts. An update
// changes little, and converting to maps takes longer than comparing.
//
// For example, of {spec: {replicas: 1, template: T}} and {spec: {replicas: 2, template: T}} it returns {spec: {replicas:
// 1}} and {spec: {replicas: 2}}. It leaves out whole lists only.
func Differ(a, b runtime.Object) (map[string]any, map[string]any, error) {
	x, y := withoutEqual(a, b)
	return trees(x, y)
}

// differAsRead is Differ, but fails as treesAsRead does.
func differAsRead(a, b runtime.Object) (map[string]any, map[string]any, error) {
	x, y := withoutEqual(a, b)
	return treesAsRead(x, y)
}

// withoutEqual returns shallow copies of two objects of one type without most of the equal parts.
func withoutEqual(a, b runtime.Object) (runtime.Object, runtime.Object) {
	x, y := reflect.New(reflect.TypeOf(a).Elem()), reflect.New(reflect.TypeOf(b).Elem())
	dropEqual(x.Elem(), y.Elem(), reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
	return x.Interface().(runtime.Object), y.Interface().(runtime.Object)
}

// dropEqual sets the structs x and y to a and b, except for equal fields. It does not alter what a and b point to.
func dropEqual(x, y, a, b reflect.Value) {
	for i := range a.NumField() {
		left, right := a.Field(i), b.Field(i)
		toX, toY := x.Field(i), y.Field(i)
		switch {
		case isPlainStruct(left.Type()):
			dropEqual(toX, toY, left, right)
		case reflect.DeepEqual(left.Addr().Interface(), right.Addr().Interface()): // by address, because an interface would copy the value
		case left.Kind() == reflect.Pointer && isPlainStruct(left.Type().Elem()) && !left.IsNil() && !right.IsNil():
			toX.Set(reflect.New(left.Type().Elem()))
			toY.Set(reflect.New(left.Type().Elem()))
			dropEqual(toX.Elem(), toY.Elem(), left.Elem(), right.Elem())
		default:
			toX.Set(left)
			toY.Set(right)
		}
	}
}

// isPlainStruct reports whether the JSON of a type consists of its fields.
func isPlainStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !t.Implements(jsonMarshaler) && !reflect.PointerTo(t).Implements(jsonMarshaler)
}
