package typed

import (
	"reflect"
	"unsafe"
)

// Most fields of an object are unset. What follows tells so of a field by its memory, because
// reflect takes several times as long. It knows the fields whose zero value is nothing in JSON
// and is settled: texts, numbers, pointers, lists and maps, but no type that encodes itself.

// unsetIs says how the memory of a zero value is recognized.
type unsetIs uint8

const (
	unknown  unsetIs = iota // only reflect can tell
	nilWord                 // a pointer or a map; of a list, the first word
	noLength                // the second word of a text
	zero8
	zero16
	zero32
	zero64
)

// unsetOf returns how a zero value of the plan's type is recognized.
func (p *plan) unsetOf() unsetIs {
	switch p.kind {
	case isPointer, isList, isMap, isBytes:
		return nilWord
	case isText:
		return noLength
	case isBool, isInteger, isUnsigned:
		switch p.of.Size() {
		case 1:
			return zero8
		case 2:
			return zero16
		case 4:
			return zero32
		case 8:
			return zero64
		}
	}
	return unknown
}

// memoryOf returns the address of a struct, or nil if it has none.
func memoryOf(v reflect.Value) unsafe.Pointer {
	if !v.CanAddr() {
		return nil
	}
	return v.Addr().UnsafePointer()
}

// isUnset tells whether a field of the struct at an address is known to have its zero value. The
// address may be nil.
func (f *field) isUnset(of unsafe.Pointer) bool {
	if of == nil {
		return false
	}
	at := unsafe.Add(of, f.offset)
	switch f.unset {
	case nilWord:
		return *(*unsafe.Pointer)(at) == nil
	case noLength:
		return len(*(*string)(at)) == 0
	case zero8:
		return *(*uint8)(at) == 0
	case zero16:
		return *(*uint16)(at) == 0
	case zero32:
		return *(*uint32)(at) == 0
	case zero64:
		return *(*uint64)(at) == 0
	}
	return false
}

// setFields returns how many fields the JSON of the struct at an address has, about. The address may
// be nil.
func (p *plan) setFields(of unsafe.Pointer) int {
	if of == nil {
		return len(p.fields)/2 + 1
	}
	n := 0
	for i := range p.fields {
		if f := &p.fields[i]; !f.omitEmpty || !f.isUnset(of) {
			n++
		}
	}
	return n
}

// isSame tells whether a field of two structs is known to have the same value: the same bits, or
// the same text.
func (f *field) isSame(a, b unsafe.Pointer) bool {
	if a == nil || b == nil {
		return false
	}
	a, b = unsafe.Add(a, f.offset), unsafe.Add(b, f.offset)
	switch f.unset {
	case nilWord:
		x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
		return x == y && (x == nil || f.plan.kind == isPointer || f.plan.kind == isMap) // lists may have other lengths
	case noLength:
		return *(*string)(a) == *(*string)(b)
	case zero8:
		return *(*uint8)(a) == *(*uint8)(b)
	case zero16:
		return *(*uint16)(a) == *(*uint16)(b)
	case zero32:
		return *(*uint32)(a) == *(*uint32)(b)
	case zero64:
		return *(*uint64)(a) == *(*uint64)(b)
	}
	return false
}

// textsOf returns a map from texts to texts, such as labels; ok is false if a value is none. To go
// through a map by reflect copies each key and each value to the heap.
func textsOf(v reflect.Value) (texts map[string]string, ok bool) {
	if v.Kind() != reflect.Map || !v.CanInterface() {
		return nil, false
	}
	texts, ok = v.Interface().(map[string]string)
	return texts, ok
}

// textAt returns the text in a field of the struct at an address; ok is false if the field has no
// text, or the address is nil.
func (f *field) textAt(of unsafe.Pointer) (text string, ok bool) {
	if of == nil || f.unset != noLength {
		return "", false
	}
	return *(*string)(unsafe.Add(of, f.offset)), true
}
