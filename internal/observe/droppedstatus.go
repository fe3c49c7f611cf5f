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

// sentStatus returns the status that a write of the object itself carries, if the kind has a subresource
// for it, before the strategy of the kind has dropped it; nil: it carries none, or the history does
// not record the write.
func (w *Write) sentStatus(obj runtime.Object) any {
	if w.Entry == nil || w.subresource != "" || w.version.Subresource["status"] == nil || w.dryRun {
		return nil
	}
	return w.statusOf(obj)
}

// statusOf returns a copy of the status as far as the strategies of the kinds alter it; nil: the object
// has none.
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

// compareStatus reports that the status that was sent is not that of the object. Clients in Go send the zero
// values of a status that they have not set, which do not count.
func (w *Write) compareStatus(obj runtime.Object) {
	if w.status == nil || w.sentZeros() {
		return
	}
	if sent := withoutZeros(w.status); sent != nil && !equality.Semantic.DeepEqual(sent, withoutZeros(w.statusOf(obj))) && !w.sentDefaults() {
		w.DroppedStatus()
	}
}

// sentDefaults reports whether the status is that of an object without one, which defaults have filled: the phase Pending of a PersistentVolumeClaim
// or a Pod, for example. A body in protobuf does not show that its status is empty.
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

// sentZeros reports whether the client has sent only the zero values of a status, which the defaults of the schema may
// have filled since. It is false if the body of the request is not a JSON object.
func (w *Write) sentZeros() bool {
	body := w.Entry.SentBody()
	if len(body) == 0 || body[0] != '{' {
		return false
	}
	return withoutZeros(gjson.GetBytes(body, "status").Value()) == nil
}

// withoutZeros returns JSON without what is empty, false or zero; nil: nothing is left. Values of Go types stay
// as they are, unless they are empty.
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

// isEmpty reports whether a value consists of zero values, also behind pointers: the conversion of a StatefulSet makes a
// pointer to the observedGeneration 0.
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
