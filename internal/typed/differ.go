package typed

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fakecluster/fakecluster/internal/schema"
)

// ErrUnsettled says that two lists may have the same JSON and differ as Go values.
var ErrUnsettled = errors.New("a list has values that are not as JSON is read")

// Differ returns the trees of what differs between two objects of one type. Fields and
// entries of maps that are the same in both are in neither tree. A list that differs is in
// both as a whole; items that are the same at the same index are the same value in both.
// For example, for {spec: {replicas: 1, paused: true}} and {spec: {replicas: 2, paused:
// true}} it returns {spec: {replicas: 1}} and {spec: {replicas: 2}}.
//
// The schema of the objects, which may be nil, says which lists are merged by key. Of a pair of items that
// have the same keys at the same index of such a list, the trees have the keys and what differs. For example, of
// {name: a, image: x, tty: true} and {name: a, image: y, tty: true} they have {name: a, image: x} and {name: a, image:
// y}.
//
// Upstream compares atomic lists as Go values, so that inside them an empty list differs
// from a nil list, although the JSON has neither. If there is such a value in a list, the
// error is ErrUnsettled. An object that was read from JSON has one only if the JSON says
// so, for example as "namespaces: []".
func Differ(a, b any, by *schema.Node) (x, y map[string]any, err error) {
	at, p, err := memoryOf(a)
	if err != nil {
		return nil, nil, err
	}
	other, q, err := memoryOf(b)
	if err != nil {
		return nil, nil, err
	}
	if p.of != q.of {
		return nil, nil, fmt.Errorf("%T and %T are two types", a, b)
	}
	var d comparison
	l, r, differ, err := d.differ(p, by, at, other)
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

// differ returns what differs between two values, by their schema, which may be nil.
func (d *comparison) differ(p *plan, by *schema.Node, a, b unsafe.Pointer) (x, y any, differ bool, err error) {
	switch p.kind {
	case isPointer:
		switch to, other := addressAt(a), addressAt(b); {
		case to == other:
			return nil, nil, false, nil
		case to == nil || other == nil:
			return p.both(a, b)
		default:
			return d.differ(p.elem, by, to, other)
		}
	case isStruct:
		return d.differInFields(p, by, a, b)
	case isMap:
		return d.differInEntries(p, by, a, b)
	case isList:
		own, other := listAt(a), listAt(b)
		switch {
		case own.isOne(other):
			return nil, nil, false, nil
		case own.first == nil || other.first == nil:
			return p.both(a, b)
		}
		if keys, ok := p.keysOf(by); ok {
			return d.differByKeys(p, by.Items, keys, own, other)
		}
		return d.differInItems(p, own, other)
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
func (p *plan) both(a, b unsafe.Pointer) (x, y any, differ bool, err error) {
	if x, err = p.tree(a); err == nil {
		y, err = p.tree(b)
	}
	return x, y, true, err
}

// isSame is a fast check whether two values are the same, which most are. It may return
// false for the same values.
func (p *plan) isSame(a, b unsafe.Pointer) bool {
	switch p.kind {
	case isText:
		return textAt(a) == textAt(b)
	case isBool, isInteger, isUnsigned:
		return p.unsignedAt(a) == p.unsignedAt(b)
	case isFloat:
		return p.value(a).Float() == p.value(b).Float()
	case isBytes:
		own, other := bytesAt(a), bytesAt(b)
		return (own == nil) == (other == nil) && bytes.Equal(own, other)
	case isTime, isMicroTime:
		return *timeAt(a) == *timeAt(b)
	case isQuantity:
		return isSameQuantity(quantityAt(a), quantityAt(b))
	case isIntOrString:
		return intOrStringAt(a) == intOrStringAt(b)
	case isItself, isFieldsV1:
		return reflect.DeepEqual(p.pointer(a), p.pointer(b))
	}
	return false
}

func (d *comparison) differInFields(p *plan, by *schema.Node, a, b unsafe.Pointer) (any, any, bool, error) {
	var l, r map[string]any
	for i := range p.fields {
		f := &p.fields[i]
		if f.isSame(a, b) {
			continue
		}
		outA, outB := f.isLeftOut(a), f.isLeftOut(b)
		own, other := f.at(a), f.at(b)
		if outA && outB {
			d.unsettled = d.unsettled || d.lists > 0 && f.plan.isHollow(own) != f.plan.isHollow(other)
			continue
		}
		var x, y any
		var err error
		differ := true
		switch {
		case outA:
			y, err = f.plan.tree(other)
		case outB:
			x, err = f.plan.tree(own)
		default:
			x, y, differ, err = d.differ(f.plan, fieldOf(by, f.name), own, other)
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

func (d *comparison) differInEntries(p *plan, by *schema.Node, a, b unsafe.Pointer) (any, any, bool, error) {
	switch own, other := addressAt(a), addressAt(b); {
	case own == other:
		return nil, nil, false, nil
	case own == nil || other == nil:
		return p.both(a, b)
	}
	l, r := map[string]any{}, map[string]any{}
	if texts, ok := p.textsAt(a); ok {
		others, _ := p.textsAt(b)
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
	var err error
	both := 0
	p.entries(a, func(name string, key reflect.Value, value unsafe.Pointer) bool {
		other := p.entry(b, key)
		if other == nil {
			l[name], err = p.elem.tree(value)
			return err == nil
		}
		both++
		var x, y any
		var differ bool
		if x, y, differ, err = d.differ(p.elem, fieldOf(by, name), value, other); differ {
			l[name], r[name] = x, y
		}
		return err == nil
	})
	if err == nil && both < p.lenOfMap(b) {
		p.entries(b, func(name string, key reflect.Value, value unsafe.Pointer) bool {
			if !p.value(a).MapIndex(key).IsValid() {
				r[name], err = p.elem.tree(value)
			}
			return err == nil
		})
	}
	return l, r, len(l)+len(r) > 0, err
}

func (d *comparison) differInItems(p *plan, a, b list) (any, any, bool, error) {
	d.lists++
	defer func() { d.lists-- }()
	all := a.len == b.len
	for i := range min(a.len, b.len) {
		_, _, differ, err := d.differ(p.elem, nil, p.item(a, i), p.item(b, i))
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

// fieldOf returns the schema of a field, or of an entry of a map; nil: it is not known.
func fieldOf(n *schema.Node, name string) *schema.Node {
	if n == nil {
		return nil
	}
	if field := n.Properties[name]; field != nil {
		return field
	}
	return n.Additional
}

// keysOf returns the fields by which the items of a list are merged; ok is false if they are not, or their
// keys are not to be read in the type.
func (p *plan) keysOf(n *schema.Node) (keys []*field, ok bool) {
	if n == nil || n.List != schema.MapList || p.elem.kind != isStruct {
		return nil, false
	}
	keys = make([]*field, len(n.Keys))
	for i, name := range n.Keys {
		at, ok := p.elem.named[name]
		if !ok {
			return nil, false
		}
		keys[i] = &p.elem.fields[at]
	}
	return keys, len(keys) > 0
}

// differByKeys is differInItems for a list whose items are merged by key. If the keys of items repeat, no
// comparison of them by key makes sense, but the trees show that they repeat.
func (d *comparison) differByKeys(p *plan, by *schema.Node, keys []*field, a, b list) (any, any, bool, error) {
	d.lists++
	defer func() { d.lists-- }()
	var l, r []any // nil: nothing differs yet
	begin := func(at int) (err error) {
		if l != nil {
			return nil
		}
		l, r = make([]any, a.len), make([]any, b.len)
		for i := 0; i < at && err == nil; i++ {
			l[i], err = keysIn(keys, p.item(a, i), map[string]any{})
			r[i] = l[i]
		}
		return err
	}
	whole := func(of list, i int) (any, error) { // the item may be compared with one at another place
		d.unsettled = d.unsettled || !p.elem.isAsRead(p.item(of, i))
		return p.elem.tree(p.item(of, i))
	}
	n := min(a.len, b.len)
	for i := range n {
		own, other := p.item(a, i), p.item(b, i)
		same, differ := haveSame(keys, own, other), true
		var x, y any
		var err error
		if same {
			x, y, differ, err = d.differ(p.elem, by, own, other)
		}
		if differ && err == nil {
			err = begin(i)
		}
		switch {
		case err != nil:
		case !same:
			if l[i], err = whole(a, i); err == nil {
				r[i], err = whole(b, i)
			}
		case differ:
			if l[i], err = keysIn(keys, own, x.(map[string]any)); err == nil {
				r[i], err = keysIn(keys, own, y.(map[string]any))
			}
		case l != nil:
			l[i], err = keysIn(keys, own, map[string]any{})
			r[i] = l[i]
		}
		if err != nil {
			return nil, nil, false, err
		}
	}
	if a.len == b.len {
		return l, r, l != nil, nil
	}
	err := begin(n)
	for i := n; i < a.len && err == nil; i++ {
		l[i], err = whole(a, i)
	}
	for i := n; i < b.len && err == nil; i++ {
		r[i], err = whole(b, i)
	}
	return l, r, true, err
}

// haveSame tells whether some fields of two structs are known to be the same.
func haveSame(fields []*field, a, b unsafe.Pointer) bool {
	for _, f := range fields {
		if !f.isSame(a, b) && (f.isLeftOut(a) != f.isLeftOut(b) || !f.plan.isSame(f.at(a), f.at(b))) {
			return false
		}
	}
	return true
}

// keysIn adds some fields of a struct to a tree.
func keysIn(fields []*field, of unsafe.Pointer, tree map[string]any) (any, error) {
	for _, f := range fields {
		if f.isLeftOut(of) {
			continue
		}
		value, err := f.plan.tree(f.at(of))
		if err != nil {
			return nil, err
		}
		tree[f.name] = value
	}
	return tree, nil
}

// CheckLists returns ErrUnsettled if a list in an object has a value that Differ could not
// compare as upstream does, whatever it is compared with.
func CheckLists(obj any) error {
	at, p, err := memoryOf(obj)
	if err == nil && !p.listsAreAsRead(at) {
		err = ErrUnsettled
	}
	return err
}

func (p *plan) listsAreAsRead(at unsafe.Pointer) bool {
	switch p.kind {
	case isPointer:
		to := addressAt(at)
		return to == nil || p.elem.listsAreAsRead(to)
	case isStruct:
		for i := range p.fields {
			if f := &p.fields[i]; !f.isUnset(at) && !f.plan.listsAreAsRead(f.at(at)) {
				return false
			}
		}
	case isList:
		return p.isAsRead(at)
	case isMap:
		return p.entries(at, func(_ string, _ reflect.Value, value unsafe.Pointer) bool { return p.elem.listsAreAsRead(value) })
	}
	return true
}

// isSameQuantity compares quantities as Go values.
func isSameQuantity(a, b *apiresource.Quantity) bool { return *a == *b || reflect.DeepEqual(a, b) }

// isHollow tells whether a value is a list or a map that is empty but not nil.
func isHollow(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return !v.IsNil() && v.Len() == 0
	}
	return false
}

// isAsRead tells whether a value is settled (see Settle).
func (p *plan) isAsRead(at unsafe.Pointer) bool {
	switch p.kind {
	case isPointer:
		to := addressAt(at)
		return to == nil || p.elem.isAsRead(to)
	case isStruct:
		for i := range p.fields {
			f := &p.fields[i]
			switch {
			case f.isUnset(at):
			case f.isLeftOut(at):
				if f.plan.isHollow(f.at(at)) {
					return false
				}
			case !f.plan.isAsRead(f.at(at)):
				return false
			}
		}
	case isList:
		return p.itemsAreAsRead(listAt(at), nil)
	case isMap:
		return p.entriesAreAsRead(at)
	case isTime:
		t := *timeAt(at)
		return t == time.Time{} || t == t.Truncate(time.Second).Local()
	case isMicroTime:
		t := *timeAt(at)
		return t == time.Time{} || t == t.Truncate(time.Microsecond).Local()
	case isQuantity:
		return quantityIsAsRead(quantityAt(at))
	case isIntOrString:
		switch is := intOrStringAt(at); is.Type {
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
func (p *plan) itemsAreAsRead(all list, known []bool) bool {
	if p.elem.isSettled() || p.elem.kind == isText {
		return true
	}
	for i := range all.len {
		if (i >= len(known) || !known[i]) && !p.elem.isAsRead(p.item(all, i)) {
			return false
		}
	}
	return true
}

func (p *plan) entriesAreAsRead(at unsafe.Pointer) bool {
	if p.elem.isSettled() || p.elem.kind == isText {
		return true
	}
	if quantities, ok := p.quantitiesAt(at); ok {
		for _, q := range quantities {
			if !quantityIsAsRead(&q) {
				return false
			}
		}
		return true
	}
	return p.entries(at, func(_ string, _ reflect.Value, value unsafe.Pointer) bool { return p.elem.isAsRead(value) })
}

func quantityIsAsRead(q *apiresource.Quantity) bool {
	own := *q // String keeps the text in it
	read, err := apiresource.ParseQuantity(own.String())
	return err == nil && isSameQuantity(q, &read)
}
