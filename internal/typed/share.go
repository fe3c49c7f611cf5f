package typed

import (
	"maps"
	"reflect"
)

// Share makes an object use the memory of another one of its type wherever both are exactly
// the same. A comparison then sees at once that a list or a map is the same. The object and
// all that it points to must be the caller's own, and nothing may alter it afterwards.
func Share(obj, with any) {
	v, p, err := structOf(obj)
	if err != nil {
		return
	}
	if w, _, err := structOf(with); err == nil && w.Type() == v.Type() {
		p.share(v, w)
	}
}

// share tells whether two values are the same, and if so makes the first use the second's
// memory.
func (p *plan) share(v, w reflect.Value) (same bool) {
	switch p.kind {
	case isPointer:
		switch {
		case v.IsNil() || w.IsNil():
			return v.IsNil() && w.IsNil()
		case v.Pointer() == w.Pointer():
			return true
		}
		if same = p.elem.share(v.Elem(), w.Elem()); same {
			v.Set(w)
		}
		return same
	case isStruct:
		same = !p.partial
		own, other := memoryOf(v), memoryOf(w)
		for i := range p.fields {
			f := &p.fields[i]
			if f.isSame(own, other) {
				continue
			}
			if !f.plan.share(f.in(v), f.in(w)) {
				same = false
			}
		}
		return same
	case isList:
		return p.shareItems(v, w)
	case isMap:
		return p.shareEntries(v, w)
	}
	return p.isSame(v, w)
}

func (p *plan) shareItems(v, w reflect.Value) bool {
	if v.IsNil() || w.IsNil() {
		return v.IsNil() && w.IsNil()
	}
	if v.Len() == w.Len() && v.Pointer() == w.Pointer() {
		return true
	}
	same := v.Len() == w.Len()
	for i := range min(v.Len(), w.Len()) {
		if !p.elem.share(v.Index(i), w.Index(i)) {
			same = false
		}
	}
	if same {
		v.Set(w)
	}
	return same
}

// shareEntries shares a map as a whole or not at all: its values cannot be changed in place.
func (p *plan) shareEntries(v, w reflect.Value) bool {
	if v.IsNil() || w.IsNil() || v.Len() != w.Len() {
		return v.IsNil() && w.IsNil()
	}
	if v.Pointer() == w.Pointer() {
		return true
	}
	if own, ok := textsOf(v); ok {
		if other, _ := textsOf(w); maps.Equal(own, other) {
			v.Set(w)
			return true
		}
		return false
	}
	for entries := v.MapRange(); entries.Next(); {
		other := w.MapIndex(entries.Key())
		if !other.IsValid() || !p.elem.share(addressable(entries.Value()), other) {
			return false
		}
	}
	v.Set(w)
	return true
}
