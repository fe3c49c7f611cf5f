package typed

import (
	"reflect"
	"time"
	"unsafe"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The walks that look at a whole object read its memory by address: reflect takes several times as
// long, and most fields of an object are unset. An address is that of a value of the plan's type. Where
// reflect is needed, for maps and for types that encode themselves, value makes its value of an address.

// memoryOf returns the address of the struct that obj points to.
func memoryOf(obj any) (unsafe.Pointer, *plan, error) {
	v, p, err := structOf(obj)
	if err != nil {
		return nil, nil, err
	}
	return v.Addr().UnsafePointer(), p, nil
}

// value returns the value at an address. It can be set.
func (p *plan) value(at unsafe.Pointer) reflect.Value { return reflect.NewAt(p.of, at).Elem() }

// pointer returns a pointer to the value at an address.
func (p *plan) pointer(at unsafe.Pointer) any { return reflect.NewAt(p.of, at).Interface() }

// at returns the address of the field of the struct at an address.
func (f *field) at(of unsafe.Pointer) unsafe.Pointer { return unsafe.Add(of, f.offset) }

// addressAt returns the pointer at an address; of a map and of a list, too, it is nil if they are.
func addressAt(at unsafe.Pointer) unsafe.Pointer { return *(*unsafe.Pointer)(at) }

// list is the memory of a list.
type list struct {
	first    unsafe.Pointer
	len, cap int
}

func listAt(at unsafe.Pointer) list { return *(*list)(at) }

// isOne tells whether two lists are the same memory.
func (l list) isOne(with list) bool { return l.first == with.first && l.len == with.len }

// item returns the address of an item of a list of the plan's type.
func (p *plan) item(of list, i int) unsafe.Pointer {
	return unsafe.Add(of.first, uintptr(i)*p.elem.size)
}

func textAt(at unsafe.Pointer) string                    { return *(*string)(at) }
func boolAt(at unsafe.Pointer) bool                      { return *(*bool)(at) }
func bytesAt(at unsafe.Pointer) []byte                   { return *(*[]byte)(at) }
func timeAt(at unsafe.Pointer) *time.Time                { return (*time.Time)(at) } // the only field of a Time and a MicroTime
func quantityAt(at unsafe.Pointer) *apiresource.Quantity { return (*apiresource.Quantity)(at) }
func intOrStringAt(at unsafe.Pointer) intstr.IntOrString { return *(*intstr.IntOrString)(at) }
func rawFieldsAt(at unsafe.Pointer) []byte               { return (*metav1.FieldsV1)(at).GetRawBytes() }

// integerAt returns the integer at an address, which may have any size.
func (p *plan) integerAt(at unsafe.Pointer) int64 {
	switch p.size {
	case 1:
		return int64(*(*int8)(at))
	case 2:
		return int64(*(*int16)(at))
	case 4:
		return int64(*(*int32)(at))
	}
	return *(*int64)(at)
}

// unsignedAt is integerAt of an integer without a sign.
func (p *plan) unsignedAt(at unsafe.Pointer) uint64 {
	switch p.size {
	case 1:
		return uint64(*(*uint8)(at))
	case 2:
		return uint64(*(*uint16)(at))
	case 4:
		return uint64(*(*uint32)(at))
	}
	return *(*uint64)(at)
}

// textsAt returns the map from texts to texts at an address, such as labels; ok is false if the plan is of
// no such map. To go through a map by reflect copies each key and each value to the heap.
func (p *plan) textsAt(at unsafe.Pointer) (texts map[string]string, ok bool) {
	if p.of != textsType {
		return nil, false
	}
	return *(*map[string]string)(at), true
}

// quantitiesAt is textsAt of a map to quantities, such as the requests of a container. The type of its keys
// may have another name, as upstream's conversions of such maps assume as well.
func (p *plan) quantitiesAt(at unsafe.Pointer) (quantities map[string]apiresource.Quantity, ok bool) {
	if p.elem.kind != isQuantity {
		return nil, false
	}
	return *(*map[string]apiresource.Quantity)(at), true
}

var textsType = reflect.TypeFor[map[string]string]()

// lenOfMap returns the length of the map at an address.
func (p *plan) lenOfMap(at unsafe.Pointer) int {
	if addressAt(at) == nil {
		return 0
	}
	return p.value(at).Len()
}

// entries goes through the map at an address until do returns false. It passes the address of a copy of each
// value, which is the copy of the next one afterwards. Of two maps that one walk goes through, each has a copy
// of its own.
func (p *plan) entries(at unsafe.Pointer, do func(name string, key reflect.Value, value unsafe.Pointer) bool) bool {
	if addressAt(at) == nil {
		return true
	}
	key, value := reflect.New(p.of.Key()).Elem(), reflect.New(p.of.Elem()).Elem()
	address := value.Addr().UnsafePointer()
	for all := p.value(at).MapRange(); all.Next(); {
		key.SetIterKey(all)
		value.SetIterValue(all)
		if !do(key.String(), key, address) {
			return false
		}
	}
	return true
}

// entry returns the address of a copy of an entry of the map at an address; nil: it has none. The map is not nil.
func (p *plan) entry(at unsafe.Pointer, key reflect.Value) unsafe.Pointer {
	found := p.value(at).MapIndex(key)
	if !found.IsValid() {
		return nil
	}
	return addressable(found).Addr().UnsafePointer()
}

// unsetIs says how the memory of a zero value is recognized. It knows the fields whose zero value is nothing
// in JSON and is settled: texts, numbers, pointers, lists and maps, but no type that encodes itself.
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
		switch p.size {
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

// isUnset tells whether a field of the struct at an address is known to have its zero value.
func (f *field) isUnset(of unsafe.Pointer) bool {
	at := f.at(of)
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

// isZero tells whether the value at an address is the zero value of the type.
func (p *plan) isZero(at unsafe.Pointer) bool { return p.value(at).IsZero() }

// isEmpty tells whether encoding/json leaves out the value at an address under omitempty.
func (p *plan) isEmpty(at unsafe.Pointer) bool {
	switch p.kind {
	case isText:
		return len(textAt(at)) == 0
	case isList, isBytes:
		return listAt(at).len == 0
	case isPointer:
		return addressAt(at) == nil
	case isMap:
		return p.lenOfMap(at) == 0
	case isBool, isInteger, isUnsigned:
		return p.unsignedAt(at) == 0
	case isStruct, isTime, isMicroTime, isQuantity, isIntOrString, isFieldsV1:
		return false
	}
	return isEmpty(p.value(at))
}

// isHollow tells whether the value at an address is a list or a map that is empty but not nil.
func (p *plan) isHollow(at unsafe.Pointer) bool {
	switch p.kind {
	case isList, isBytes:
		return addressAt(at) != nil && listAt(at).len == 0
	case isMap:
		return addressAt(at) != nil && p.lenOfMap(at) == 0
	case isItself:
		return isHollow(p.value(at))
	}
	return false
}

// setFields returns how many fields the JSON of the struct at an address has, about.
func (p *plan) setFields(of unsafe.Pointer) int {
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
	a, b = f.at(a), f.at(b)
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
