package typed

import (
	"maps"
	"reflect"
	"unsafe"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// Share makes an object use the memory of another one of its type wherever both are exactly
// the same. A comparison then sees at once that a list or a map is the same. The object and
// all that it points to must be the caller's own, and nothing may alter it afterwards.
func Share(obj, with any) {
	at, p, err := memoryOf(obj)
	if err != nil {
		return
	}
	if other, q, err := memoryOf(with); err == nil && p.of == q.of {
		p.share(at, other)
	}
}

// share tells whether two values are the same, and if so makes the first use the second's
// memory.
func (p *plan) share(at, with unsafe.Pointer) (same bool) {
	switch p.kind {
	case isPointer:
		to, other := addressAt(at), addressAt(with)
		if to == nil || other == nil || to == other {
			return to == other
		}
		if same = p.elem.share(to, other); same {
			*(*unsafe.Pointer)(at) = other
		}
		return same
	case isStruct:
		same = !p.partial
		for i := range p.fields {
			f := &p.fields[i]
			if f.isSame(at, with) {
				continue
			}
			if !f.plan.share(f.at(at), f.at(with)) {
				same = false
			}
		}
		return same
	case isList:
		return p.shareItems(at, with)
	case isMap:
		return p.shareEntries(at, with)
	}
	return p.isSame(at, with)
}

func (p *plan) shareItems(at, with unsafe.Pointer) bool {
	own, other := listAt(at), listAt(with)
	if own.first == nil || other.first == nil {
		return own.first == other.first
	}
	if own.isOne(other) {
		return true
	}
	same := own.len == other.len
	for i := range min(own.len, other.len) {
		if !p.elem.share(p.item(own, i), p.item(other, i)) {
			same = false
		}
	}
	if same {
		*(*list)(at) = other
	}
	return same
}

// shareEntries shares a map as a whole or not at all: its values cannot be changed in place.
func (p *plan) shareEntries(at, with unsafe.Pointer) (same bool) {
	own, other := addressAt(at), addressAt(with)
	switch {
	case own == nil || other == nil || own == other:
		return own == other
	case p.lenOfMap(at) != p.lenOfMap(with):
		return false
	}
	if texts, ok := p.textsAt(at); ok {
		others, _ := p.textsAt(with)
		same = maps.Equal(texts, others)
	} else if quantities, ok := p.quantitiesAt(at); ok {
		others, _ := p.quantitiesAt(with)
		same = maps.EqualFunc(quantities, others, func(a, b apiresource.Quantity) bool { return isSameQuantity(&a, &b) })
	} else {
		same = p.entries(at, func(_ string, key reflect.Value, value unsafe.Pointer) bool {
			other := p.entry(with, key)
			return other != nil && p.elem.share(value, other)
		})
	}
	if same {
		*(*unsafe.Pointer)(at) = other
	}
	return same
}
