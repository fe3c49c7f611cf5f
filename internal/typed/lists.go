package typed

import "reflect"

// ForgetEmptyLists makes the empty lists of an object nil, as protobuf does, which cannot tell
// them apart: JSON shows null for those that it does not leave out. The object and all that it
// points to must be the caller's own.
func ForgetEmptyLists(obj any) {
	if v, p, err := structOf(obj); err == nil {
		p.forgetEmptyLists(v)
	}
}

func (p *plan) forgetEmptyLists(v reflect.Value) {
	switch p.kind {
	case isPointer:
		if !v.IsNil() {
			p.elem.forgetEmptyLists(v.Elem())
		}
	case isStruct:
		for i := range p.fields {
			p.fields[i].plan.forgetEmptyLists(p.fields[i].in(v))
		}
	case isList:
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			p.elem.forgetEmptyLists(v.Index(i))
		}
	}
}
