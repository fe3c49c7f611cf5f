package json

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
)

// Equal is reflect.DeepEqual for the values of unstructured objects, in a fifth of the
// time.
func Equal(a, b any) bool { return equal(a, b, true) }

// SemanticallyEqual is equality.Semantic.DeepEqual for the values of unstructured objects:
// a nil map equals an empty one, and a nil list an empty one.
func SemanticallyEqual(a, b any) bool { return equal(a, b, false) }

// EqualExcept reports whether two objects have the same fields with semantically equal values. It ignores the value of
// the field but.
func EqualExcept(but string, a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		other, ok := b[name]
		if !ok || name != but && !SemanticallyEqual(value, other) {
			return false
		}
	}
	return true
}

// Same reports whether two values are the very same map or list, or equal scalars. It returns
// false for maps and lists that are equal but not the same.
func Same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && IsSameMap(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && isSameList(a, b)
	case nil, string, bool, int64, float64:
		return a == b
	}
	return false
}

// IsSameMap reports whether two values are the same map, not only equal maps.
func IsSameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

func isSameList(a, b []any) bool {
	return len(a) == len(b) && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

func equal(a, b any, strict bool) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if ok && IsSameMap(a, b) {
			return true
		}
		if !ok || len(a) != len(b) || strict && (a == nil) != (b == nil) {
			return false
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok || !equal(value, other, strict) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if ok && isSameList(a, b) {
			return true
		}
		if !ok || len(a) != len(b) || strict && (a == nil) != (b == nil) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i], strict) {
				return false
			}
		}
		return true
	case nil, string, bool, int64, float64:
		return a == b
	}
	if strict {
		return reflect.DeepEqual(a, b)
	}
	return equality.Semantic.DeepEqual(a, b)
}
