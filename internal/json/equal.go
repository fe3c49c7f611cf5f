package json

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
)

// Equal is reflect.DeepEqual for what unstructured objects are made of, in a
// fifth of its time.
func Equal(a, b any) bool { return equal(a, b, true) }

// SemanticallyEqual is equality.Semantic.DeepEqual for what unstructured objects are made
// of: a nil map equals an empty one, and so do lists.
func SemanticallyEqual(a, b any) bool { return equal(a, b, false) }

// EqualBut tells whether two objects have the same fields with semantically equal values.
// It does not look at the value of the field but.
func EqualBut(but string, a, b map[string]any) bool {
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

func equal(a, b any, strict bool) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
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
