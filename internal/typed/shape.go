package typed

import (
	"reflect"
	"unsafe"
)

// Shape returns a number that tells which fields of an object are set, and how many items its lists and
// maps have, whatever their values. A zero value, an empty list and an empty map are not set: protobuf
// has none of them either. So the number changes when a default is filled in that was missing. For a
// type whose JSON does not follow from its fields it is 0.
func Shape(obj any) uint64 {
	at, p, err := memoryOf(obj)
	if err != nil {
		return 0
	}
	return p.shape(at)
}

const (
	unset uint64 = 0
	set   uint64 = 1
	next  uint64 = 1099511628211 // the prime of FNV
)

// shape returns the number of one value. Those of the items of a list and the fields of a struct depend
// on their order, those of the entries of a map do not.
func (p *plan) shape(at unsafe.Pointer) uint64 {
	switch p.kind {
	case isPointer:
		to := addressAt(at)
		if to == nil {
			return unset
		}
		return set + next*p.elem.shape(to) // a pointer to a zero value is set
	case isStruct:
		return p.shapeOfFields(at)
	case isList:
		all := listAt(at)
		n := uint64(all.len)
		if p.elem.isNested() {
			for i := range all.len {
				n = n*next + p.elem.shape(p.item(all, i))
			}
		}
		return n
	case isMap:
		n := uint64(p.lenOfMap(at))
		if n == 0 {
			return n
		}
		switch {
		case p.elem.kind == isBytes:
			p.entries(at, func(_ string, _ reflect.Value, value unsafe.Pointer) bool {
				if addressAt(value) == nil { // protobuf makes it an empty value
					n += next
				}
				return true
			})
		case p.elem.isNested():
			p.entries(at, func(_ string, _ reflect.Value, value unsafe.Pointer) bool {
				n += next * p.elem.shape(value)
				return true
			})
		}
		return n
	case isBytes:
		if addressAt(at) == nil {
			return unset
		}
		return set
	}
	if p.isZero(at) {
		return unset
	}
	return set
}

func (p *plan) shapeOfFields(of unsafe.Pointer) uint64 {
	n := set
	for i := range p.fields {
		f := &p.fields[i]
		if f.isUnset(of) {
			continue
		}
		is := set
		if f.unset == unknown || f.plan.elem != nil {
			if is = f.plan.shape(f.at(of)); is == unset {
				continue
			}
		}
		n = (n*next+uint64(i))*next + is
	}
	return n
}

// isNested tells whether values of the type have a shape of their own.
func (p *plan) isNested() bool {
	switch p.kind {
	case isPointer, isStruct, isList, isMap:
		return true
	}
	return false
}
