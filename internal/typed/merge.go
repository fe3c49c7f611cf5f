package typed

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/fakecluster/fakecluster/internal/json"
)

// Merge merges a JSON merge patch (RFC 7386) into an object. It looks only at what the patch
// names. The object and all that it points to must be the caller's own, and settled (see
// [Settle]). Merge may alter the patch. If the patch does not fit the type (an unknown field,
// a value of another type), Merge returns an error, and the object must not be used any more.
func Merge(obj any, patch map[string]any) error {
	v, p, err := structOf(obj)
	if err != nil {
		return err
	}
	return p.mergeFields(v, patch)
}

func (p *plan) mergeFields(v reflect.Value, patch map[string]any) error {
	found := 0
	for i := range p.fields {
		f := &p.fields[i]
		value, ok := patch[f.name]
		if !ok {
			continue
		}
		found++
		if value == nil {
			f.in(v).SetZero()
			continue
		}
		if err := f.plan.merge(f.in(v), value); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if found < len(patch) {
		return fmt.Errorf("%s does not have all of its fields", p.of)
	}
	return nil
}

var errItself = errors.New("the type decodes itself")

// merge merges a patch, which is not null, into a value.
func (p *plan) merge(v reflect.Value, patch any) error {
	switch patch := patch.(type) {
	case map[string]any:
		switch p.kind {
		case isPointer:
			if v.IsNil() {
				v.Set(reflect.New(p.of.Elem()))
			}
			return p.elem.merge(v.Elem(), patch)
		case isStruct:
			return p.mergeFields(v, patch)
		case isMap:
			return p.mergeEntries(v, patch)
		}
		return errItself
	case []any:
		if k := p.elemOfPointers().kind; k == isItself || k == isFieldsV1 {
			return errItself
		}
		json.DropNulls(patch)
	}
	return p.set(v, patch)
}

// elemOfPointers follows pointers to pointers, and returns the plan of what they point to.
func (p *plan) elemOfPointers() *plan {
	for p.kind == isPointer {
		p = p.elem
	}
	return p
}

func (p *plan) mergeEntries(v reflect.Value, patch map[string]any) error {
	if v.IsNil() {
		v.Set(reflect.MakeMapWithSize(p.of, len(patch)))
	}
	for name, is := range patch {
		key := reflect.ValueOf(name).Convert(p.of.Key())
		if is == nil {
			v.SetMapIndex(key, reflect.Value{})
			continue
		}
		value := reflect.New(p.of.Elem()).Elem()
		if was := v.MapIndex(key); was.IsValid() {
			value.Set(was)
		}
		if err := p.elem.merge(value, is); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		v.SetMapIndex(key, value)
	}
	return nil
}
