package resource

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// External converts an object from the type of the version's strategy, which may be internal, to the type of the
// version. It returns an object of that type unchanged.
func (v *Version) External(obj runtime.Object) (runtime.Object, error) {
	kind := v.Kind()
	if obj.GetObjectKind().GroupVersionKind() == kind {
		return obj, nil
	}
	objects := v.Codec.Objects()
	out, err := objects.New(kind)
	if err != nil {
		return nil, err
	}
	if err := objects.Convert(obj, out, nil); err != nil {
		return nil, err
	}
	out.GetObjectKind().SetGroupVersionKind(kind)
	return out, nil
}

// Internal converts an object to the type of the version's strategy. It is the inverse of External.
func (v *Version) Internal(obj runtime.Object) (runtime.Object, error) {
	out := v.Codec.New()
	if reflect.TypeOf(obj) == reflect.TypeOf(out) {
		return obj, nil
	}
	return out, v.Codec.Objects().Convert(obj, out, nil)
}
