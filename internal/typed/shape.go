package typed

import "reflect"

// Shape returns a number that tells which fields of an object are set, and how many items its lists and
// maps have, whatever their values. A zero value, an empty list and an empty map are not set: protobuf
// has none of them either. So the number changes when a default is filled in that was missing. For a
// type whose JSON does not follow from its fields it is 0.
func Shape(obj any) uint64 {
	v, p, err := structOf(obj)
	if err != nil {
		return 0
	}
	return p.shape(v)
}

const (
	unset uint64 = 0
	set   uint64 = 1
	next  uint64 = 1099511628211 // the prime of FNV
)

// shape returns the number of one value. Those of the items of a list and the fields of a struct depend
// on their order, those of the entries of a map do not.
func (p *plan) shape(v reflect.Value) uint64 {
	switch p.kind {
	case isPointer:
		if v.IsNil() {
			return unset
		}
		return set + next*p.elem.shape(v.Elem()) // a pointer to a zero value is set
	case isStruct:
		return p.shapeOfFields(v)
	case isList:
		n := uint64(v.Len())
		if n > 0 && p.elem.isNested() {
			for i := range v.Len() {
				n = n*next + p.elem.shape(v.Index(i))
			}
		}
		return n
	case isMap:
		n := uint64(v.Len())
		if all, ok := v.Interface().(map[string][]byte); ok {
			for _, b := range all {
				if b == nil { // protobuf makes it an empty value
					n += next
				}
			}
		}
		if n > 0 && p.elem.isNested() {
			for entries := v.MapRange(); entries.Next(); {
				n += next * p.elem.shape(entries.Value())
			}
		}
		return n
	}
	if v.IsZero() {
		return unset
	}
	return set
}

func (p *plan) shapeOfFields(v reflect.Value) uint64 {
	n, memory := set, memoryOf(v)
	for i := range p.fields {
		f := &p.fields[i]
		if f.isUnset(memory) {
			continue
		}
		of := set
		if f.unset == unknown || f.plan.elem != nil {
			if of = f.plan.shape(f.in(v)); of == unset {
				continue
			}
		}
		n = (n*next+uint64(i))*next + of
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
