package typed

import (
	"encoding/json"
	"reflect"
	"time"
	"unicode/utf8"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// Settle changes an object to what encoding it as JSON and decoding that would give, without
// defaults. The object and all that it points to must be the caller's own, and JSON must be
// able to encode it. Ok is false if Settle cannot tell; then the caller has to go through
// JSON.
func Settle(obj any) (ok bool) {
	v, p, err := structOf(obj)
	return err == nil && p.settle(v)
}

func (p *plan) settle(v reflect.Value) bool {
	switch p.kind {
	case isText:
		return utf8.ValidString(v.String())
	case isPointer:
		return v.IsNil() || p.elem.settle(v.Elem())
	case isStruct:
		return p.settleFields(v)
	case isList:
		if p.elem.isSettled() {
			return true
		}
		for i := range v.Len() {
			if !p.elem.settle(v.Index(i)) {
				return false
			}
		}
	case isMap:
		return p.settleEntries(v)
	case isTime:
		settleTime(v, time.Second)
	case isMicroTime:
		settleTime(v, time.Microsecond)
	case isQuantity:
		q := v.Addr().Interface().(*apiresource.Quantity)
		own := *q
		read, err := apiresource.ParseQuantity(own.String())
		if err != nil {
			return false
		}
		*q = read
	case isFieldsV1:
		return isPrintedAsIs(rawFields(v)) || settleItself(v)
	case isItself:
		return settleItself(v)
	}
	return true
}

// settleItself settles a type that encodes itself. A text that it holds as bytes may be no
// UTF-8.
func settleItself(v reflect.Value) bool {
	text, err := json.Marshal(v.Addr().Interface())
	if err != nil || !utf8.Valid(text) {
		return false
	}
	v.SetZero()
	return json.Unmarshal(text, v.Addr().Interface()) == nil
}

// isSettled tells whether all values of a type are settled.
func (p *plan) isSettled() bool {
	switch p.kind {
	case isBool, isInteger, isUnsigned, isFloat, isBytes:
		return true
	}
	return false
}

func (p *plan) settleFields(v reflect.Value) bool {
	memory := memoryOf(v)
	for i := range p.fields {
		f := &p.fields[i]
		if f.isUnset(memory) {
			continue
		}
		if text, ok := f.textAt(memory); ok && f.omitZero == nil {
			if !utf8.ValidString(text) {
				return false
			}
			continue
		}
		fv := f.in(v)
		if f.isLeftOut(fv) {
			fv.SetZero()
			continue
		}
		if !f.plan.settle(fv) {
			return false
		}
	}
	return true
}

func (p *plan) settleEntries(v reflect.Value) bool {
	if texts, ok := textsOf(v); ok {
		for key, text := range texts {
			if !utf8.ValidString(key) || !utf8.ValidString(text) {
				return false
			}
		}
		return true
	}
	for keys := v.MapRange(); keys.Next(); {
		if !utf8.ValidString(keys.Key().String()) {
			return false
		}
		if p.elem.kind == isText {
			if !utf8.ValidString(keys.Value().String()) {
				return false
			}
			continue
		}
		value := reflect.New(p.of.Elem()).Elem()
		value.Set(keys.Value())
		if !p.elem.settle(value) {
			return false
		}
		v.SetMapIndex(keys.Key(), value)
	}
	return true
}

// settleTime truncates a time as its JSON does, and moves it to the local time zone, as
// decoding does.
func settleTime(v reflect.Value, to time.Duration) {
	t := v.Field(0).Addr().Interface().(*time.Time)
	if !t.IsZero() {
		*t = t.Truncate(to).Local()
	} else {
		*t = time.Time{}
	}
}
