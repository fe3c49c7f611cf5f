package typed

import (
	"maps"
	"reflect"
	"unsafe"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// Like returns an object with the value of the first that uses the memory of the second, of the same type,
// wherever both are exactly the same. A comparison of the result with the second then sees at once that a list or
// a map is the same. For example, of {labels: A, spec: {volumes: B, containers: [C, D]}} and {labels: A', spec:
// {volumes: B', containers: [C', E]}}, where A is the same as A', B as B' and C as C', it returns {labels: A',
// spec: {volumes: B', containers: [C', D]}}.
//
// Like alters neither object. What differs may be the memory of the first, so nothing may alter the result either.
func Like(obj, with any) any {
	at, p, err := memoryOf(obj)
	if err != nil {
		return obj
	}
	other, q, err := memoryOf(with)
	if err != nil || p.of != q.of {
		return obj
	}
	like := reflect.New(p.of)
	like.Elem().Set(p.value(at))
	p.like(like.UnsafePointer(), other)
	return like.Interface()
}

// like makes a value use the memory of another. The value itself may be altered; what it points to is
// replaced.
func (p *plan) like(at, with unsafe.Pointer) {
	switch p.kind {
	case isPointer:
		to, other := addressAt(at), addressAt(with)
		switch {
		case to == nil || other == nil || to == other:
		case p.elem.isExactly(to, other):
			*(*unsafe.Pointer)(at) = other
		case p.elem.isNested():
			own := reflect.New(p.elem.of)
			own.Elem().Set(p.elem.value(to))
			p.value(at).Set(own)
			p.elem.like(own.UnsafePointer(), other)
		}
	case isStruct:
		for i := range p.fields {
			if f := &p.fields[i]; !f.isSame(at, with) {
				f.plan.like(f.at(at), f.at(with))
			}
		}
	case isList:
		p.likeItems(at, with)
	case isMap:
		if p.isExactly(at, with) {
			*(*unsafe.Pointer)(at) = addressAt(with)
		}
	}
}

func (p *plan) likeItems(at, with unsafe.Pointer) {
	was, other := listAt(at), listAt(with)
	switch {
	case was.first == nil || other.first == nil || was.isOne(other):
	case p.isExactly(at, with):
		*(*list)(at) = other
	case p.elem.isNested():
		own := reflect.MakeSlice(p.of, was.len, was.len)
		reflect.Copy(own, p.value(at))
		p.value(at).Set(own)
		all := listAt(at)
		for i := range min(all.len, other.len) {
			p.elem.like(p.item(all, i), p.item(other, i))
		}
	}
}

// isExactly tells whether two values are the same, an empty list and none being two values. It may return
// false for values that are the same.
func (p *plan) isExactly(a, b unsafe.Pointer) bool {
	switch p.kind {
	case isPointer:
		to, other := addressAt(a), addressAt(b)
		return to == other || to != nil && other != nil && p.elem.isExactly(to, other)
	case isStruct:
		if p.partial {
			return false
		}
		for i := range p.fields {
			if f := &p.fields[i]; !f.isSame(a, b) && !f.plan.isExactly(f.at(a), f.at(b)) {
				return false
			}
		}
		return true
	case isList:
		own, other := listAt(a), listAt(b)
		if own.len != other.len || (own.first == nil) != (other.first == nil) {
			return false
		}
		if own.first == other.first {
			return true
		}
		for i := range own.len {
			if !p.elem.isExactly(p.item(own, i), p.item(other, i)) {
				return false
			}
		}
		return true
	case isMap:
		return p.hasEntries(a, b)
	}
	return p.isSame(a, b)
}

func (p *plan) hasEntries(a, b unsafe.Pointer) bool {
	own, other := addressAt(a), addressAt(b)
	switch {
	case own == nil || other == nil || own == other:
		return own == other
	case p.lenOfMap(a) != p.lenOfMap(b):
		return false
	}
	if texts, ok := p.textsAt(a); ok {
		others, _ := p.textsAt(b)
		return maps.Equal(texts, others)
	}
	if quantities, ok := p.quantitiesAt(a); ok {
		others, _ := p.quantitiesAt(b)
		return maps.EqualFunc(quantities, others, func(a, b apiresource.Quantity) bool { return isSameQuantity(&a, &b) })
	}
	return p.entries(a, func(_ string, key reflect.Value, value unsafe.Pointer) bool {
		other := p.entry(b, key)
		return other != nil && p.elem.isExactly(value, other)
	})
}
