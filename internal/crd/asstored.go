package crd

import (
	"math"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// AsStored implements resource.Codec. It is the object itself, if it is stored in the
// version that it is in, and reading its JSON gives each of its values again.
func (c *codec) AsStored(obj runtime.Object) runtime.Object {
	u := obj.(*unstructured.Unstructured)
	if u.GetAPIVersion() != c.kind.GroupVersion().String() || !readsBack(u.Object) {
		return nil
	}
	return u
}

// readsBack tells whether reading the JSON of a value gives the same value. A whole
// number that is no integer in Go, for example, is one when it is read: 1.0 becomes 1.
func readsBack(value any) bool {
	switch v := value.(type) {
	case nil, bool, int64:
		return true
	case string:
		return utf8.ValidString(v)
	case float64:
		return v != math.Trunc(v)
	case map[string]any:
		for name, field := range v {
			if !utf8.ValidString(name) || !readsBack(field) {
				return false
			}
		}
		return v != nil
	case []any:
		for _, item := range v {
			if !readsBack(item) {
				return false
			}
		}
		return v != nil
	}
	return false
}
