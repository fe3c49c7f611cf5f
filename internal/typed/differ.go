package typed

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"time"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ErrUnsettled says that two lists may have the same JSON and differ as Go values.
var ErrUnsettled = errors.New("a list has values that are not as JSON is read")

// Differ returns the trees of what differs between two objects of one type. Fields and
// entries of maps that are the same in both are in neither tree. A list that differs is in
// both as a whole; items that are the same at the same index are the same value in both.
// For example, for {spec: {replicas: 1, paused: true}} and {spec: {replicas: 2, paused:
// true}} it returns {spec: {replicas: 1}} and {spec: {replicas: 2}}.
//
// Upstream compares atomic lists as Go values, so that inside them an empty list differs
// from a nil list, although the JSON has neither. If there is such a value in a list, the
// error is ErrUnsettled. An object that was read from JSON has one only if the JSON says
// so, for example as "namespaces: []".
func Differ(a, b any) (x, y map[string]any, err error) {
	v, p, err := structOf(a)
	if err != nil {
		return nil, nil, err
	}
	w, _, err := structOf(b)
	if err != nil {
		return nil, nil, err
	}
	if v.Type() != w.Type() {
		return nil, nil, fmt.Errorf("%T and %T are two types", a, b)
	}
	var d comparison
	l, r, differ, err := d.differ(p, v, w)
	switch {
	case err != nil:
		return nil, nil, err
	case d.unsettled:
		return nil, nil, ErrUnsettled
	case !differ:
		return map[string]any{}, map[string]any{}, nil
	}
	return l.(map[string]any), r.(map[string]any), nil
}

// comparison is one comparison of two objects.
type comparison struct {
	lists     int  // how many lists it is in
	unsettled bool // see ErrUnsettled
}

// differ returns what differs between two values.
func (d *comparison) differ(p *plan, a, b reflect.Value) (x, y any, differ bool, err error) {
	switch p.kind {
	case isPointer:
		switch {
		case a.IsNil() && b.IsNil(), !a.IsNil() && a.Pointer() == b.Pointer():
			return nil, nil, false, nil
		case a.IsNil() || b.IsNil():
			return p.both(a, b)
		}
		return d.differ(p.elem, a.Elem(), b.Elem())
	case isStruct:
		return d.differInFields(p, a, b)
	case isMap:
		return d.differInEntries(p, a, b)
	case isList:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() && b.IsNil() {
				return nil, nil, false, nil
			}
			return p.both(a, b)
		}
		return d.differInItems(p, a, b)
	}
	if p.isSame(a, b) {
		return nil, nil, false, nil
	}
	x, y, _, err = p.both(a, b)
	differ = err != nil || !reflect.DeepEqual(x, y)
	d.unsettled = d.unsettled || !differ && d.lists > 0
	return x, y, differ, err
}

// both returns the trees of two values that differ.
func (p *plan) both(a, b reflect.Value) (x, y any, differ bool, err error) {
	if x, err = p.tree(a); err == nil {
		y, err = p.tree(b)
	}
	return x, y, true, err
}

// isSame is a fast check whether two values are the same, which most are. It may return
// false for the same values.
func (p *plan) isSame(a, b reflect.Value) bool {
	switch p.kind {
	case isText:
		return a.String() == b.String()
	case isBool:
		return a.Bool() == b.Bool()
	case isInteger:
		return a.Int() == b.Int()
	case isUnsigned:
		return a.Uint() == b.Uint()
	case isFloat:
		return a.Float() == b.Float()
	case isBytes:
		return a.IsNil() == b.IsNil() && bytes.Equal(a.Bytes(), b.Bytes())
	case isTime, isMicroTime:
		return timeOf(a) == timeOf(b)
	case isQuantity:
		return isSameQuantity(quantityOf(a), quantityOf(b))
	case isIntOrString:
		return intOrStringOf(a) == intOrStringOf(b)
	case isItself, isFieldsV1:
		return reflect.DeepEqual(addressable(a).Addr().Interface(), addressable(b).Addr().Interface())
	}
	return false
}

func (d *comparison) differInFields(p *plan, a, b reflect.Value) (any, any, bool, error) {
	var l, r map[string]any
	memoryA, memoryB := memoryOf(a), memoryOf(b)
	for i := range p.fields {
		f := &p.fields[i]
		if f.isSame(memoryA, memoryB) {
			continue
		}
		va, vb := f.in(a), f.in(b)
		outA, outB := f.isLeftOut(va), f.isLeftOut(vb)
		if outA && outB {
			d.unsettled = d.unsettled || d.lists > 0 && isHollow(va) != isHollow(vb)
			continue
		}
		var x, y any
		var err error
		differ := true
		switch {
		case outA:
			y, err = f.plan.tree(vb)
		case outB:
			x, err = f.plan.tree(va)
		default:
			x, y, differ, err = d.differ(f.plan, va, vb)
		}
		if err != nil {
			return nil, nil, false, err
		}
		if !differ {
			continue
		}
		if l == nil {
			l, r = map[string]any{}, map[string]any{}
		}
		if !outA {
			l[f.name] = x
		}
		if !outB {
			r[f.name] = y
		}
	}
	return l, r, l != nil, nil
}

func (d *comparison) differInEntries(p *plan, a, b reflect.Value) (any, any, bool, error) {
	if a.IsNil() || b.IsNil() {
		if a.IsNil() && b.IsNil() {
			return nil, nil, false, nil
		}
		return p.both(a, b)
	}
	if a.Pointer() == b.Pointer() {
		return nil, nil, false, nil
	}
	l, r := map[string]any{}, map[string]any{}
	if texts, ok := textsOf(a); ok {
		others, _ := textsOf(b)
		for key, text := range texts {
			if other, ok := others[key]; !ok {
				l[key] = text
			} else if other != text {
				l[key], r[key] = text, other
			}
		}
		for key, other := range others {
			if _, ok := texts[key]; !ok {
				r[key] = other
			}
		}
		return l, r, len(l)+len(r) > 0, nil
	}
	both := 0
	for keys := a.MapRange(); keys.Next(); {
		key := keys.Key()
		name := key.String()
		other := b.MapIndex(key)
		if !other.IsValid() {
			x, err := p.elem.tree(keys.Value())
			if err != nil {
				return nil, nil, false, err
			}
			l[name] = x
			continue
		}
		both++
		x, y, differ, err := d.differ(p.elem, keys.Value(), other)
		if err != nil {
			return nil, nil, false, err
		}
		if differ {
			l[name], r[name] = x, y
		}
	}
	if both < b.Len() {
		for keys := b.MapRange(); keys.Next(); {
			if a.MapIndex(keys.Key()).IsValid() {
				continue
			}
			y, err := p.elem.tree(keys.Value())
			if err != nil {
				return nil, nil, false, err
			}
			r[keys.Key().String()] = y
		}
	}
	return l, r, len(l)+len(r) > 0, nil
}

func (d *comparison) differInItems(p *plan, a, b reflect.Value) (any, any, bool, error) {
	n := min(a.Len(), b.Len())
	if a.Len() == b.Len() && a.Pointer() == b.Pointer() {
		return nil, nil, false, nil
	}
	d.lists++
	defer func() { d.lists-- }()
	all := a.Len() == b.Len()
	for i := range n {
		_, _, differ, err := d.differ(p.elem, a.Index(i), b.Index(i))
		if err != nil {
			return nil, nil, false, err
		}
		if differ {
			all = false
			break
		}
	}
	if all {
		return nil, nil, false, nil
	}
	// Items may be compared with items at other places.
	x, y, same, err := p.itemTrees(a, b)
	if err != nil {
		return nil, nil, false, err
	}
	d.unsettled = d.unsettled || !p.itemsAreAsRead(a, nil) || !p.itemsAreAsRead(b, same)
	return x, y, true, nil
}

// CheckLists returns ErrUnsettled if a list in an object has a value that Differ could not
// compare as upstream does, whatever it is compared with.
func CheckLists(obj any) error {
	v, p, err := structOf(obj)
	if err == nil && !p.listsAreAsRead(v) {
		err = ErrUnsettled
	}
	return err
}

func (p *plan) listsAreAsRead(v reflect.Value) bool {
	switch p.kind {
	case isPointer:
		return v.IsNil() || p.elem.listsAreAsRead(v.Elem())
	case isStruct:
		memory := memoryOf(v)
		for i := range p.fields {
			f := &p.fields[i]
			if f.isUnset(memory) {
				continue
			}
			if !f.plan.listsAreAsRead(f.in(v)) {
				return false
			}
		}
	case isList:
		return p.isAsRead(v)
	case isMap:
		for entries := v.MapRange(); entries.Next(); {
			if !p.elem.listsAreAsRead(entries.Value()) {
				return false
			}
		}
	}
	return true
}

// isSameQuantity compares quantities as Go values.
func isSameQuantity(a, b apiresource.Quantity) bool { return a == b || reflect.DeepEqual(a, b) }

// isHollow tells whether a value is a list or a map that is empty but not nil.
func isHollow(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return !v.IsNil() && v.Len() == 0
	}
	return false
}

// isAsRead tells whether a value is settled (see Settle).
func (p *plan) isAsRead(v reflect.Value) bool {
	switch p.kind {
	case isPointer:
		return v.IsNil() || p.elem.isAsRead(v.Elem())
	case isStruct:
		memory := memoryOf(v)
		for i := range p.fields {
			f := &p.fields[i]
			if f.isUnset(memory) {
				continue
			}
			fv := f.in(v)
			if f.isLeftOut(fv) {
				if isHollow(fv) {
					return false
				}
			} else if !f.plan.isAsRead(fv) {
				return false
			}
		}
	case isList:
		return p.itemsAreAsRead(v, nil)
	case isMap:
		return p.entriesAreAsRead(v)
	case isTime:
		t := timeOf(v)
		return t == time.Time{} || t == t.Truncate(time.Second).Local()
	case isMicroTime:
		t := timeOf(v)
		return t == time.Time{} || t == t.Truncate(time.Microsecond).Local()
	case isQuantity:
		return quantityIsAsRead(v)
	case isIntOrString:
		switch is := intOrStringOf(v); is.Type {
		case intstr.Int:
			return is.StrVal == ""
		default:
			return is.IntVal == 0
		}
	case isItself, isFieldsV1:
		return false
	}
	return true
}

// itemsAreAsRead tells whether the items of a list are settled, but for those that are known to be.
func (p *plan) itemsAreAsRead(v reflect.Value, known []bool) bool {
	if p.elem.isSettled() || p.elem.kind == isText {
		return true
	}
	for i := range v.Len() {
		if (i >= len(known) || !known[i]) && !p.elem.isAsRead(v.Index(i)) {
			return false
		}
	}
	return true
}

func (p *plan) entriesAreAsRead(v reflect.Value) bool {
	if p.elem.isSettled() || p.elem.kind == isText {
		return true
	}
	for entries := v.MapRange(); entries.Next(); {
		if !p.elem.isAsRead(entries.Value()) {
			return false
		}
	}
	return true
}

func quantityIsAsRead(v reflect.Value) bool {
	q := quantityOf(v)
	own := q
	read, err := apiresource.ParseQuantity(own.String())
	return err == nil && isSameQuantity(q, read)
}
