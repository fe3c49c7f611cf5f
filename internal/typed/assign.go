package typed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"unsafe"

	ownjson "github.com/fakecluster/fakecluster/internal/json"
)

// Assign changes an object from the tree was, which is its JSON, to the tree is. It skips
// maps and lists that are the same in both trees, and changes only fields that differ. The
// object and all that it points to must be the caller's own.
//
// If the tree does not fit the type (an unknown field, a value of another type), Assign
// returns an error, and the object must not be used any more.
func Assign(obj any, was, is map[string]any) error {
	v, p, err := structOf(obj)
	if err != nil {
		return err
	}
	return p.assignFields(v, was, is)
}

func (p *plan) assignFields(v reflect.Value, was, is map[string]any) error {
	found := 0
	for i := range p.fields {
		f := &p.fields[i]
		to, ok := is[f.name]
		from, had := was[f.name]
		switch {
		case ok && had:
			found++
			if err := f.plan.assign(f.in(v), from, to); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		case ok:
			found++
			if err := f.plan.set(f.in(v), to); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		case had:
			f.in(v).SetZero()
		}
	}
	if found < len(is) {
		return fmt.Errorf("%s does not have all of its fields", p.of)
	}
	return nil
}

// assign changes a value from one tree to another.
func (p *plan) assign(v reflect.Value, was, is any) error {
	switch to := is.(type) {
	case map[string]any:
		from, ok := was.(map[string]any)
		if !ok {
			return p.set(v, is)
		}
		if mapAddress(from) == mapAddress(to) {
			return nil
		}
		switch {
		case p.kind == isPointer && !v.IsNil():
			return p.elem.assign(v.Elem(), was, is)
		case p.kind == isStruct:
			return p.assignFields(v, from, to)
		case p.kind == isMap && !v.IsNil():
			return p.assignEntries(v, from, to)
		}
	case []any:
		from, ok := was.([]any)
		if !ok {
			return p.set(v, is)
		}
		if len(from) == len(to) && unsafe.SliceData(from) == unsafe.SliceData(to) {
			return nil
		}
		if p.kind == isList && !v.IsNil() && v.Len() == len(from) {
			return p.assignItems(v, from, to)
		}
	default:
		if was == is { // both are scalars: a map or a list is not equal to one
			return nil
		}
	}
	return p.set(v, is)
}

func mapAddress(m map[string]any) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&m)) // a map is a pointer
}

func (p *plan) assignEntries(v reflect.Value, was, is map[string]any) error {
	for name := range was {
		if _, ok := is[name]; !ok {
			v.SetMapIndex(reflect.ValueOf(name).Convert(p.of.Key()), reflect.Value{})
		}
	}
	for name, to := range is {
		key := reflect.ValueOf(name).Convert(p.of.Key())
		value := reflect.New(p.of.Elem()).Elem()
		var err error
		if from, ok := was[name]; ok {
			value.Set(v.MapIndex(key))
			err = p.elem.assign(value, from, to)
		} else {
			err = p.elem.set(value, to)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		v.SetMapIndex(key, value)
	}
	return nil
}

// assignItems makes a new list. It reuses the former item for an item that is the same map.
// Other items are changed from the former item at the same index.
func (p *plan) assignItems(v reflect.Value, was, is []any) error {
	out := reflect.MakeSlice(p.of, len(is), len(is))
	taken := make([]bool, len(was))
	places := make([]int, len(is))
	for i, to := range is {
		places[i] = -1
		m, ok := to.(map[string]any)
		if !ok {
			continue
		}
		for j := range was {
			at := (i + j) % len(was)
			if from, ok := was[at].(map[string]any); ok && !taken[at] && mapAddress(from) == mapAddress(m) {
				places[i], taken[at] = at, true
				break
			}
		}
	}
	for i, to := range is {
		item := out.Index(i)
		var err error
		switch at := places[i]; {
		case at >= 0:
			item.Set(v.Index(at))
		case i < len(was) && !taken[i]:
			taken[i] = true
			item.Set(v.Index(i))
			err = p.elem.assign(item, was[i], to)
		default:
			err = p.elem.set(item, to)
		}
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	v.Set(out)
	return nil
}

// set sets a value to what a tree says.
func (p *plan) set(v reflect.Value, is any) error {
	v.SetZero()
	switch to := is.(type) {
	case nil:
		if p.kind != isItself {
			return nil
		}
	case string:
		if p.kind == isText {
			v.SetString(to)
			return nil
		}
	case bool:
		if p.kind == isBool {
			v.SetBool(to)
			return nil
		}
	case int64:
		if p.kind == isInteger && !v.OverflowInt(to) {
			v.SetInt(to)
			return nil
		}
	case map[string]any:
		switch p.kind {
		case isStruct:
			return p.assignFields(v, nil, to)
		case isMap:
			v.Set(reflect.MakeMapWithSize(p.of, len(to)))
			return p.assignEntries(v, nil, to)
		}
	case []any:
		if p.kind == isList {
			v.Set(reflect.MakeSlice(p.of, len(to), len(to)))
			for i, item := range to {
				if err := p.elem.set(v.Index(i), item); err != nil {
					return fmt.Errorf("item %d: %w", i, err)
				}
			}
			return nil
		}
	}
	if p.kind == isPointer {
		v.Set(reflect.New(p.of.Elem()))
		return p.elem.set(v.Elem(), is)
	}
	switch p.kind {
	case isText, isBool, isInteger, isStruct, isMap, isList:
		return fmt.Errorf("%T cannot be a %s", is, p.of)
	}
	if text, ok := is.(string); ok && p.kind != isItself {
		if r := ownjson.NewReader(string(ownjson.AppendString(nil, text))); p.decode(r, v) && r.End() {
			return nil
		}
		v.SetZero()
	}
	text, err := json.Marshal(is)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v.Addr().Interface())
}
