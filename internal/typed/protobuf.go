package typed

import (
	"reflect"
	"unsafe"
)

// AsProtobuf makes an object what it is after it was written in protobuf and read again, where JSON
// shows a difference: an empty list is nil, but bytes and lists that are the values of a map are empty
// and not nil. It tells whether it has changed anything. The object and all that it points to must be
// the caller's own.
func AsProtobuf(obj any) (changed bool) {
	at, p, err := memoryOf(obj)
	return err == nil && p.asProtobuf(at)
}

func (p *plan) asProtobuf(at unsafe.Pointer) (changed bool) {
	switch p.kind {
	case isPointer:
		if to := addressAt(at); to != nil {
			changed = p.elem.asProtobuf(to)
		}
	case isStruct:
		for i := range p.fields {
			f := &p.fields[i]
			changed = !f.isUnset(at) && f.plan.asProtobuf(f.at(at)) || changed
		}
	case isList:
		if p.isHollow(at) {
			p.value(at).SetZero()
			return true
		}
		all := listAt(at)
		for i := range all.len {
			changed = p.elem.asProtobuf(p.item(all, i)) || changed
		}
	case isMap:
		if p.elem.kind != isBytes && p.elem.kind != isList {
			return false
		}
		for entries := p.value(at).MapRange(); entries.Next(); {
			if entries.Value().IsNil() {
				p.value(at).SetMapIndex(entries.Key(), reflect.MakeSlice(entries.Value().Type(), 0, 0))
				changed = true
			}
		}
	}
	return changed
}
