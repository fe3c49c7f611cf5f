package observe

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/store"
)

// sentStatus returns the status in a write of the object itself, if the kind has the subresource status, before the
// strategy drops it; nil: there is none, or the history does not record the write.
func (w *Write) sentStatus(obj runtime.Object) any {
	if w.Entry == nil || w.subresource != "" || w.version.Subresource["status"] == nil || w.dryRun {
		return nil
	}
	return w.statusOf(obj)
}

// statusOf returns the status, copied as deep as strategies alter it; nil: the object has none.
func (w *Write) statusOf(obj runtime.Object) any {
	if !w.version.Typed {
		return obj.(*unstructured.Unstructured).Object["status"]
	}
	if v := reflect.Indirect(reflect.ValueOf(obj)); v.Kind() == reflect.Struct {
		if status := v.FieldByName("Status"); status.IsValid() && !status.IsZero() {
			return status.Interface()
		}
	}
	return nil
}

// compareStatus reports a dropped status: the object does not have the status of the request. It ignores zero values,
// which Go clients send for a status that they have not set.
func (w *Write) compareStatus(obj runtime.Object) {
	if w.status == nil || w.sentZeros() {
		return
	}
	if sent := withoutZeros(w.status); sent != nil && !equality.Semantic.DeepEqual(sent, withoutZeros(w.statusOf(obj))) && !w.sentDefaults() {
		w.DroppedStatus()
	}
}

// sentDefaults reports whether the status has only defaults, such as the phase Pending of a PersistentVolumeClaim or a
// Pod. A body in protobuf does not show that its status is empty.
func (w *Write) sentDefaults() bool {
	if !w.version.Typed {
		return false
	}
	apiVersion, kind := w.version.Kind().ToAPIVersionAndKind()
	text, err := json.Marshal(metav1.TypeMeta{APIVersion: apiVersion, Kind: kind})
	if err != nil {
		return false
	}
	empty, err := w.version.Codec.DecodeStored(store.Record{Value: string(text)})
	return err == nil && equality.Semantic.DeepEqual(w.status, w.statusOf(empty))
}

// sentZeros reports whether the status in the body has only zero values, which defaults of the schema may have filled.
// It is false if the body is not a JSON object.
func (w *Write) sentZeros() bool {
	body := w.Entry.SentBody()
	if len(body) == 0 || body[0] != '{' {
		return false
	}
	return withoutZeros(gjson.GetBytes(body, "status").Value()) == nil
}

// withoutZeros returns JSON without empty, false and zero values; nil: nothing is left. Values of Go types are removed
// only if they are empty.
func withoutZeros(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		left := map[string]any{}
		for name, field := range typed {
			if field = withoutZeros(field); field != nil {
				left[name] = field
			}
		}
		if len(left) == 0 {
			return nil
		}
		return left
	case []any:
		if !slices.ContainsFunc(typed, func(item any) bool { return withoutZeros(item) != nil }) {
			return nil
		}
	case string:
		if typed == "" || typed == "0" || typed == "0s" || typed == "0001-01-01T00:00:00Z" { // of a quantity, a duration and a time
			return nil
		}
	case nil:
	default: // numbers, and the status of a Go type
		if isEmpty(reflect.ValueOf(value)) {
			return nil
		}
	}
	return value
}

// isEmpty reports whether a value consists of zero values and pointers to them: the conversion of a StatefulSet returns
// a pointer to the observedGeneration 0.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || isEmpty(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !isEmpty(v.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}
