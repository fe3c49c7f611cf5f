package typed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fakecluster/fakecluster/internal/content"
	ownjson "github.com/fakecluster/fakecluster/internal/json"
)

// plan says what the JSON of a type looks like. It is complete once planOf has returned
// it, and then never changes.
type plan struct {
	kind    kind
	of      reflect.Type
	size    uintptr        // of a value in memory
	fields  []field        // of a struct
	named   map[string]int // the fields by name
	partial bool           // the struct has more than its JSON says
	elem    *plan          // of a pointer, a list or a map
}

type kind uint8

const (
	isStruct kind = iota
	isPointer
	isList
	isMap
	isText
	isInteger
	isUnsigned
	isFloat
	isBool
	isBytes
	isTime
	isMicroTime
	isQuantity
	isIntOrString
	isFieldsV1
	isItself // the type encodes itself
)

// field is one field of the JSON of a struct. Fields of structs that are inlined are
// fields of the outer one.
type field struct {
	name      string
	text      string // what stands before its value in JSON: its name and a colon
	index     []int
	only      int // index, if that is one number; otherwise -1
	omitEmpty bool
	omitZero  func(at unsafe.Pointer) bool // nil: it does not matter
	plan      *plan
	// offset is where the field is in the memory of its struct, and unset how a zero value is
	// recognized there.
	offset uintptr
	unset  unsetIs
}

func (f *field) in(v reflect.Value) reflect.Value {
	if f.only >= 0 {
		return v.Field(f.only)
	}
	return v.FieldByIndex(f.index)
}

// isLeftOut tells whether the JSON leaves out the field of the struct at an address.
func (f *field) isLeftOut(of unsafe.Pointer) bool {
	return f.omitEmpty && f.plan.isEmpty(f.at(of)) || f.omitZero != nil && f.omitZero(f.at(of))
}

// isEmpty tells whether encoding/json leaves out a value under omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// plans keeps the plans of types. The API has some 2,000 types.
var plans = content.NewCache[reflect.Type, *plan](4096)

// planOf returns the plan of a type.
func planOf(t reflect.Type) (*plan, error) {
	if known, ok := plans.Get(t); ok {
		return known, nil
	}
	p := planner{made: map[reflect.Type]*plan{}}
	made := p.plan(t)
	if p.err != nil {
		return nil, p.err
	}
	for _, of := range p.made {
		for i := range of.fields {
			of.fields[i].unset = of.fields[i].plan.unsetOf()
		}
	}
	return plans.Put(t, made, 1), nil
}

// maxFields is the largest number of fields of a struct.
const maxFields = 128

// planner makes the plans of a type and of all types in it, which may be recursive.
type planner struct {
	made map[reflect.Type]*plan
	err  error
}

func (p *planner) refuse(t reflect.Type, why string) {
	if p.err == nil {
		p.err = fmt.Errorf("the JSON of %s cannot be told: %s", t, why)
	}
}

var (
	timeType        = reflect.TypeFor[metav1.Time]()
	microTimeType   = reflect.TypeFor[metav1.MicroTime]()
	quantityType    = reflect.TypeFor[apiresource.Quantity]()
	intOrStringType = reflect.TypeFor[intstr.IntOrString]()
	fieldsV1Type    = reflect.TypeFor[metav1.FieldsV1]()
	marshalerType   = reflect.TypeFor[json.Marshaler]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
)

func (p *planner) plan(t reflect.Type) *plan {
	if known, ok := p.made[t]; ok {
		return known
	}
	made := &plan{of: t, size: t.Size()}
	p.made[t] = made
	switch {
	case t == timeType:
		made.kind = isTime
	case t == microTimeType:
		made.kind = isMicroTime
	case t == quantityType:
		made.kind = isQuantity
	case t == intOrStringType:
		made.kind = isIntOrString
	case t == fieldsV1Type:
		made.kind = isFieldsV1
	case t.Kind() != reflect.Pointer && (t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType)):
		made.kind = isItself
	default:
		p.fill(made, t)
	}
	return made
}

func (p *planner) fill(made *plan, t reflect.Type) {
	switch t.Kind() {
	case reflect.String:
		made.kind = isText
	case reflect.Bool:
		made.kind = isBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		made.kind = isInteger
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		made.kind = isUnsigned
	case reflect.Float32, reflect.Float64:
		made.kind = isFloat
	case reflect.Pointer:
		made.kind, made.elem = isPointer, p.plan(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			made.kind = isBytes
			return
		}
		made.kind, made.elem = isList, p.plan(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			p.refuse(t, "its keys are no strings")
		}
		made.kind, made.elem = isMap, p.plan(t.Elem())
	case reflect.Struct:
		made.kind = isStruct
		made.fields = p.fields(t, nil)
		made.partial = p.err == nil && fieldsOf(t) > len(made.fields)
		made.named = make(map[string]int, len(made.fields))
		for i, f := range made.fields {
			made.named[f.name] = i
		}
	default:
		p.refuse(t, "it is a "+t.Kind().String())
	}
}

func (p *planner) fields(t reflect.Type, above []int) []field {
	return p.fieldsAt(t, above, 0)
}

// fieldsAt returns the fields of a struct that begins at an offset in the outer one.
func (p *planner) fieldsAt(t reflect.Type, above []int, offset uintptr) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		index := append(append([]int{}, above...), i)
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct || !f.IsExported() {
				p.refuse(t, "it embeds "+f.Type.String())
				continue
			}
			out = append(out, p.fieldsAt(f.Type, index, offset+f.Offset)...)
			continue
		case !f.IsExported():
			continue
		case name == "" && strings.Contains(","+options+",", ",inline,"): // only embedded structs are inlined
			p.refuse(t, "it inlines "+f.Name)
			continue
		}
		if name == "" {
			name = f.Name
		}
		one := field{name: name, text: string(ownjson.AppendString(nil, name)) + ":", index: index, only: -1, plan: p.plan(f.Type), offset: offset + f.Offset}
		if len(index) == 1 {
			one.only = i
		}
		if tagged {
			for option := range strings.SplitSeq(options, ",") {
				switch option {
				case "omitempty":
					one.omitEmpty = true
				case "omitzero":
					one.omitZero = zeroOf(f.Type)
				case "string":
					p.refuse(t, "it writes numbers as strings")
				}
			}
		}
		out = append(out, one)
	}
	if above == nil {
		seen := map[string]bool{}
		for _, f := range out {
			if seen[f.name] {
				p.refuse(t, "it has "+f.name+" more than once")
			}
			seen[f.name] = true
		}
		if len(out) > maxFields {
			p.refuse(t, "it has too many fields")
		}
	}
	return out
}

// fieldsOf returns the number of fields of a struct, including those of inlined structs.
func fieldsOf(t reflect.Type) int {
	n := 0
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.Anonymous && name == "" {
			n += fieldsOf(f.Type)
		} else {
			n++
		}
	}
	return n
}

// zeroOf returns the function that tells whether omitzero leaves out the value of a type at an address.
func zeroOf(t reflect.Type) func(unsafe.Pointer) bool {
	type zeroer interface{ IsZero() bool }
	asks := reflect.TypeFor[zeroer]()
	switch {
	case t == timeType, t == microTimeType:
		return func(at unsafe.Pointer) bool { return timeAt(at).IsZero() }
	case t.Kind() == reflect.Pointer && t.Implements(asks):
		return func(at unsafe.Pointer) bool {
			v := reflect.NewAt(t, at).Elem()
			return v.IsNil() || v.Interface().(zeroer).IsZero()
		}
	case reflect.PointerTo(t).Implements(asks): // also if t does
		return func(at unsafe.Pointer) bool { return reflect.NewAt(t, at).Interface().(zeroer).IsZero() }
	}
	return func(at unsafe.Pointer) bool { return reflect.NewAt(t, at).Elem().IsZero() }
}

// addressable returns the value, or a copy of it that has an address.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	own := reflect.New(v.Type()).Elem()
	own.Set(v)
	return own
}
