package resource

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// errNotAsRead is the error for objects that the field engine declines; see listsAreAsRead.
var errNotAsRead = errors.New("a list has values that JSON does not show")

// treesAsRead returns the JSON of two states of an object as maps and lists. It fails with errNotAsRead if upstream may
// find a difference that their JSON does not have.
func treesAsRead(a, b runtime.Object) (map[string]any, map[string]any, error) {
	if !listsAreAsRead(reflect.ValueOf(a), false) || !listsAreAsRead(reflect.ValueOf(b), false) {
		return nil, nil, errNotAsRead
	}
	return trees(a, b)
}

// trees returns the JSON of two objects as maps and lists.
func trees(a, b runtime.Object) (map[string]any, map[string]any, error) {
	x, err := Tree(a)
	if err != nil {
		return nil, nil, err
	}
	y, err := Tree(b)
	return x, y, err
}

var (
	timeType        = reflect.TypeFor[metav1.Time]()
	microTimeType   = reflect.TypeFor[metav1.MicroTime]()
	intOrStringType = reflect.TypeFor[intstr.IntOrString]()
)

var jsonMarshaler = reflect.TypeFor[json.Marshaler]()

// listsAreAsRead reports whether the items of all lists in a value equal their JSON after decoding. Upstream's field
// management compares items of lists as Go values: an item with an empty list and one without it have the same JSON, but
// differ there. The same holds for fractions of a second and for two forms of one quantity.
func listsAreAsRead(v reflect.Value, inList bool) bool {
	switch v.Type() {
	case timeType:
		value := v.Interface().(metav1.Time)
		return !inList || value.IsZero() || value.Time == value.Truncate(time.Second).Local()
	case microTimeType:
		value := v.Interface().(metav1.MicroTime)
		return !inList || value.IsZero() || value.Time == value.Truncate(time.Microsecond).Local()
	case quantityType:
		return !inList || isQuantityAsRead(v.Interface().(apiresource.Quantity))
	case intOrStringType:
		value := v.Interface().(intstr.IntOrString)
		return !inList || value.Type == intstr.Int && value.StrVal == "" || value.Type == intstr.String && value.IntVal == 0
	}
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil() || listsAreAsRead(v.Elem(), inList)
	case reflect.Struct:
		if !isPlainStruct(v.Type()) {
			return !inList
		}
		for i := range v.NumField() {
			f := v.Field(i)
			isEmptyList := (f.Kind() == reflect.Slice || f.Kind() == reflect.Map) && f.Len() == 0
			if isEmptyList && !f.IsNil() && inList && strings.Contains(v.Type().Field(i).Tag.Get("json"), ",omitempty") {
				return false
			}
			if !isEmptyList && !listsAreAsRead(f, inList) {
				return false
			}
		}
	case reflect.Slice:
		if isScalar(v.Type().Elem()) {
			return true
		}
		for i := range v.Len() {
			if !listsAreAsRead(v.Index(i), true) {
				return false
			}
		}
	case reflect.Map:
		if isScalar(v.Type().Elem()) {
			return true
		}
		for entries := v.MapRange(); entries.Next(); {
			if !listsAreAsRead(entries.Value(), inList) {
				return false
			}
		}
	}
	return true
}

// isScalar reports whether equal JSON of a type means equal values.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Map, reflect.Interface:
		return false
	}
	return true
}

// isQuantityAsRead reports whether a quantity has the form that parsing its text returns.
func isQuantityAsRead(q apiresource.Quantity) bool {
	own := q // String caches the text in it
	read, err := apiresource.ParseQuantity(own.String())
	return err == nil && reflect.DeepEqual(q, read)
}
