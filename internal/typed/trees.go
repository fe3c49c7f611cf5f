package typed

import (
	"maps"
	"reflect"

	"github.com/fakecluster/fakecluster/internal/json"
)

// trees returns the trees of two values. What is exactly the same in both is one value in both
// trees, and same says whether all is.
func (p *plan) trees(a, b reflect.Value) (x, y any, same bool, err error) {
	switch p.kind {
	case isPointer:
		switch {
		case a.IsNil() || b.IsNil():
			if a.IsNil() && b.IsNil() {
				return nil, nil, true, nil
			}
		case a.Pointer() != b.Pointer():
			return p.elem.trees(a.Elem(), b.Elem())
		default:
			same = true
		}
	case isStruct:
		return p.fieldTrees(a, b)
	case isMap:
		if a.IsNil() == b.IsNil() {
			return p.entryTrees(a, b)
		}
	case isList:
		if a.IsNil() == b.IsNil() {
			return p.listTrees(a, b)
		}
	default:
		same = p.isSame(a, b)
	}
	if x, err = p.tree(a); err != nil || same {
		return x, x, same, err
	}
	y, err = p.tree(b)
	return x, y, false, err
}

func (p *plan) fieldTrees(a, b reflect.Value) (any, any, bool, error) {
	memoryA, memoryB := memoryOf(a), memoryOf(b)
	l := make(map[string]any, p.setFields(memoryA))
	r := l // as long as they are the same
	same := !p.partial
	differ := func() {
		if same = false; json.IsSameMap(l, r) {
			r = maps.Clone(l)
		}
	}
	for i := range p.fields {
		f := &p.fields[i]
		if f.omitEmpty && f.isUnset(memoryA) && f.isUnset(memoryB) {
			continue
		}
		va, vb := f.in(a), f.in(b)
		outA, outB := f.isLeftOut(va), f.isLeftOut(vb)
		if outA && outB {
			same = same && isHollow(va) == isHollow(vb)
			continue
		}
		if !outA && !outB {
			x, y, both, err := f.trees(va, vb, f.isSame(memoryA, memoryB))
			if err != nil {
				return nil, nil, false, err
			}
			if !both {
				differ()
			}
			l[f.name], r[f.name] = x, y
			continue
		}
		differ()
		in, of := l, va
		if outA {
			in, of = r, vb
		}
		var err error
		if in[f.name], err = f.plan.tree(of); err != nil {
			return nil, nil, false, err
		}
	}
	return l, r, same, nil
}

// trees returns the trees of two values of the field, which may be known to be the same.
func (f *field) trees(a, b reflect.Value, known bool) (x, y any, same bool, err error) {
	if !known {
		return f.plan.trees(a, b)
	}
	x, err = f.plan.tree(a)
	return x, x, true, err
}

// entryTrees is trees of two maps, both nil or neither.
func (p *plan) entryTrees(a, b reflect.Value) (x, y any, same bool, err error) {
	if x, err = p.tree(a); err != nil {
		return nil, nil, false, err
	}
	if a.Pointer() == b.Pointer() {
		return x, x, true, nil
	}
	if own, ok := textsOf(a); ok {
		if other, _ := textsOf(b); maps.Equal(own, other) {
			return x, x, true, nil
		}
	}
	y, err = p.tree(b)
	return x, y, false, err
}

// listTrees is trees of two lists, both nil or neither.
func (p *plan) listTrees(a, b reflect.Value) (x, y any, same bool, err error) {
	if a.IsNil() || a.Len() == b.Len() && a.Pointer() == b.Pointer() {
		x, err = p.tree(a)
		return x, x, true, err
	}
	l, r, sames, err := p.itemTrees(a, b)
	if err != nil {
		return nil, nil, false, err
	}
	if len(l) != len(r) {
		return l, r, false, nil
	}
	for _, same := range sames {
		if !same {
			return l, r, false, nil
		}
	}
	return l, l, true, nil
}

// itemTrees returns the trees of the items of two lists, and which items are the same at the same
// index.
func (p *plan) itemTrees(a, b reflect.Value) (l, r []any, same []bool, err error) {
	n := min(a.Len(), b.Len())
	l, r, same = make([]any, a.Len()), make([]any, b.Len()), make([]bool, n)
	for i := range n {
		if l[i], r[i], same[i], err = p.elem.trees(a.Index(i), b.Index(i)); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := n; i < len(l); i++ {
		if l[i], err = p.elem.tree(a.Index(i)); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := n; i < len(r); i++ {
		if r[i], err = p.elem.tree(b.Index(i)); err != nil {
			return nil, nil, nil, err
		}
	}
	return l, r, same, nil
}
