package typed

import (
	"encoding/json"
	"reflect"
	"time"
	"unicode/utf8"
	"unsafe"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// Settle changes an object to what encoding it as JSON and decoding that would give, without
// defaults. The object and all that it points to must be the caller's own, and JSON must be
// able to encode it. Ok is false if Settle cannot tell; then the caller has to go through
// JSON.
func Settle(obj any) (ok bool) {
	at, p, err := memoryOf(obj)
	return err == nil && p.settle(at)
}

func (p *plan) settle(at unsafe.Pointer) bool {
	switch p.kind {
	case isText:
		return utf8.ValidString(textAt(at))
	case isPointer:
		to := addressAt(at)
		return to == nil || p.elem.settle(to)
	case isStruct:
		return p.settleFields(at)
	case isList:
		if p.elem.isSettled() {
			return true
		}
		all := listAt(at)
		for i := range all.len {
			if !p.elem.settle(p.item(all, i)) {
				return false
			}
		}
	case isMap:
		return p.settleEntries(at)
	case isTime:
		settleTime(timeAt(at), time.Second)
	case isMicroTime:
		settleTime(timeAt(at), time.Microsecond)
	case isQuantity:
		return settleQuantity(quantityAt(at))
	case isFieldsV1:
		return isPrintedAsIs(rawFieldsAt(at)) || p.settleItself(at)
	case isItself:
		return p.settleItself(at)
	}
	return true
}

// settleItself settles a type that encodes itself. A text that it holds as bytes may be no
// UTF-8.
func (p *plan) settleItself(at unsafe.Pointer) bool {
	text, err := json.Marshal(p.pointer(at))
	if err != nil || !utf8.Valid(text) {
		return false
	}
	p.value(at).SetZero()
	return json.Unmarshal(text, p.pointer(at)) == nil
}

// isSettled tells whether all values of a type are settled.
func (p *plan) isSettled() bool {
	switch p.kind {
	case isBool, isInteger, isUnsigned, isFloat, isBytes:
		return true
	}
	return false
}

func (p *plan) settleFields(of unsafe.Pointer) bool {
	for i := range p.fields {
		f := &p.fields[i]
		if f.isUnset(of) {
			continue
		}
		if f.isLeftOut(of) {
			f.plan.value(f.at(of)).SetZero()
			continue
		}
		if !f.plan.settle(f.at(of)) {
			return false
		}
	}
	return true
}

func (p *plan) settleEntries(at unsafe.Pointer) bool {
	if texts, ok := p.textsAt(at); ok {
		for key, text := range texts {
			if !utf8.ValidString(key) || !utf8.ValidString(text) {
				return false
			}
		}
		return true
	}
	if quantities, ok := p.quantitiesAt(at); ok {
		for key, q := range quantities {
			if !utf8.ValidString(key) || !settleQuantity(&q) {
				return false
			}
			quantities[key] = q
		}
		return true
	}
	entries := p.value(at)
	return p.entries(at, func(name string, key reflect.Value, value unsafe.Pointer) bool {
		if !utf8.ValidString(name) || !p.elem.settle(value) {
			return false
		}
		if p.elem.kind != isText {
			entries.SetMapIndex(key, p.elem.value(value))
		}
		return true
	})
}

// settleTime truncates a time as its JSON does, and moves it to the local time zone, as
// decoding does.
func settleTime(t *time.Time, to time.Duration) {
	if !t.IsZero() {
		*t = t.Truncate(to).Local()
	} else {
		*t = time.Time{}
	}
}

func settleQuantity(q *apiresource.Quantity) bool {
	own := *q // String keeps the text in it
	read, err := apiresource.ParseQuantity(own.String())
	if err != nil {
		return false
	}
	*q = read
	return true
}
