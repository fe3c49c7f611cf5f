package resource

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// External converts an object from the type of the version's strategy, which may be internal, to the type of the
// version. It returns an object of that type unchanged. The result may share parts with the object, so nothing may alter
// it.
func (v *Version) External(obj runtime.Object) (runtime.Object, error) {
	if obj.GetObjectKind().GroupVersionKind() == v.Kind() {
		return obj, nil
	}
	return v.Codec.External(obj)
}

// Internal converts an object to the type of the version's strategy. It is the inverse of External.
func (v *Version) Internal(obj runtime.Object) (runtime.Object, error) {
	out := v.Codec.New()
	if reflect.TypeOf(obj) == reflect.TypeOf(out) {
		return obj, nil
	}
	return out, v.Codec.Objects().Convert(obj, out, nil)
}
