package typed

import (
	"encoding/base64"
	"reflect"
	"strconv"
	"time"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"

	"github.com/fakecluster/fakecluster/internal/json"
)

// Decode reads the JSON of an object into an empty one, as sigs.k8s.io/json does, in one pass
// over the text. Ok is false if the text is not the plain JSON of such an object, for example
// because of an unknown field, a duplicate field or a value of another type. Then the object
// must not be used, and the caller calls sigs.k8s.io/json, which words the error. The strings
// of the object are parts of the text.
func Decode(text string, obj any) (ok bool) {
	v, p, err := structOf(obj)
	if err != nil {
		return false
	}
	r := json.NewReader(text)
	return r.Peek() == '{' && p.decode(r, v) && r.End()
}

// decode reads a value, which is empty.
func (p *plan) decode(r *json.Reader, v reflect.Value) bool {
	if p.kind != isItself && r.Peek() == 'n' {
		return r.Null() // it stays empty
	}
	switch p.kind {
	case isText:
		s, ok := r.String()
		v.SetString(s)
		return ok
	case isBool:
		b, ok := r.Bool()
		v.SetBool(b)
		return ok
	case isInteger, isUnsigned, isFloat:
		text, ok := r.Number()
		return ok && decodeNumber(text, v)
	case isPointer:
		v.Set(reflect.New(p.of.Elem()))
		return p.elem.decode(r, v.Elem())
	case isStruct:
		return p.decodeFields(r, v)
	case isList:
		return p.decodeItems(r, v)
	case isMap:
		return p.decodeEntries(r, v)
	}
	return p.decodeScalar(r, v)
}

func decodeNumber(text string, v reflect.Value) bool {
	switch {
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
		return err == nil && v.Int() == n
	case v.CanUint():
		n, err := strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
		return err == nil && v.Uint() == n
	}
	f, err := strconv.ParseFloat(text, v.Type().Bits())
	v.SetFloat(f)
	return err == nil
}

func (p *plan) decodeFields(r *json.Reader, v reflect.Value) bool {
	var seen [maxFields / 64]uint64
	return r.Object(func(name string) bool {
		i, ok := p.named[name]
		if !ok || seen[i/64]&(1<<(i%64)) != 0 {
			return false
		}
		seen[i/64] |= 1 << (i % 64)
		f := &p.fields[i]
		return f.plan.decode(r, f.in(v))
	})
}

func (p *plan) decodeItems(r *json.Reader, v reflect.Value) bool {
	v.Set(reflect.MakeSlice(p.of, 0, 0))
	return r.List(func() bool {
		n := v.Len()
		if n == v.Cap() {
			v.Grow(max(n, 2))
		}
		v.SetLen(n + 1)
		return p.elem.decode(r, v.Index(n))
	})
}

func (p *plan) decodeEntries(r *json.Reader, v reflect.Value) bool {
	v.Set(reflect.MakeMap(p.of))
	return r.Object(func(name string) bool {
		value := reflect.New(p.of.Elem()).Elem()
		if !p.elem.decode(r, value) {
			return false
		}
		before := v.Len()
		v.SetMapIndex(reflect.ValueOf(name).Convert(p.of.Key()), value)
		return v.Len() > before
	})
}

func (p *plan) decodeScalar(r *json.Reader, v reflect.Value) bool {
	switch p.kind {
	case isBytes:
		s, ok := r.String()
		if !ok {
			return false
		}
		b, err := base64.StdEncoding.DecodeString(s)
		v.SetBytes(b)
		return err == nil
	case isTime:
		return decodeTime(r, v, time.RFC3339)
	case isMicroTime:
		return decodeTime(r, v, metav1.RFC3339Micro)
	case isQuantity:
		text, ok := r.Raw()
		return ok && v.Addr().Interface().(*apiresource.Quantity).UnmarshalJSON([]byte(text)) == nil
	case isIntOrString:
		is := v.Addr().Interface().(*intstr.IntOrString)
		if r.Peek() == '"' {
			s, ok := r.String()
			*is = intstr.IntOrString{Type: intstr.String, StrVal: s}
			return ok
		}
		text, ok := r.Number()
		n, err := strconv.ParseInt(text, 10, 32)
		*is = intstr.IntOrString{Type: intstr.Int, IntVal: int32(n)}
		return ok && err == nil
	case isFieldsV1:
		text, ok := r.Raw()
		return ok && v.Addr().Interface().(*metav1.FieldsV1).UnmarshalJSON([]byte(text)) == nil
	}
	text, ok := r.Raw()
	if !ok || !reflect.PointerTo(p.of).Implements(unmarshalerType) {
		return false
	}
	return kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), v.Addr().Interface()) == nil
}

// decodeTime reads a time and moves it to the local time zone.
func decodeTime(r *json.Reader, v reflect.Value, layout string) bool {
	s, ok := r.String()
	if !ok {
		return false
	}
	t, err := time.Parse(layout, s)
	*v.Field(0).Addr().Interface().(*time.Time) = t.Local()
	return err == nil
}
