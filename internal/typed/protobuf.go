package typed

import "reflect"

// AsProtobuf makes an object what it is after it was written in protobuf and read again, where JSON
// shows a difference: an empty list is nil, but bytes and lists that are the values of a map are empty
// and not nil. It tells whether it has changed anything. The object and all that it points to must be
// the caller's own.
func AsProtobuf(obj any) (changed bool) {
	v, p, err := structOf(obj)
	return err == nil && p.asProtobuf(v)
}

func (p *plan) asProtobuf(v reflect.Value) (changed bool) {
	switch p.kind {
	case isPointer:
		if !v.IsNil() {
			changed = p.elem.asProtobuf(v.Elem())
		}
	case isStruct:
		for i := range p.fields {
			changed = p.fields[i].plan.asProtobuf(p.fields[i].in(v)) || changed
		}
	case isList:
		if v.Len() == 0 && !v.IsNil() {
			v.SetZero()
			changed = true
		}
		for i := range v.Len() {
			changed = p.elem.asProtobuf(v.Index(i)) || changed
		}
	case isMap:
		if p.elem.kind != isBytes && p.elem.kind != isList {
			return false
		}
		for entries := v.MapRange(); entries.Next(); {
			if entries.Value().IsNil() {
				v.SetMapIndex(entries.Key(), reflect.MakeSlice(entries.Value().Type(), 0, 0))
				changed = true
			}
		}
	}
	return changed
}
