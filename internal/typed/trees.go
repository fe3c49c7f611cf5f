package typed

import (
	"maps"
	"unsafe"

	"github.com/fakecluster/fakecluster/internal/json"
)

// trees returns the trees of two values. What is exactly the same in both is one value in both
// trees, and same says whether all is.
func (p *plan) trees(a, b unsafe.Pointer) (x, y any, same bool, err error) {
	switch p.kind {
	case isPointer:
		switch to, other := addressAt(a), addressAt(b); {
		case to == other:
			same = true
		case to != nil && other != nil:
			return p.elem.trees(to, other)
		}
	case isStruct:
		return p.fieldTrees(a, b)
	case isMap:
		if (addressAt(a) == nil) == (addressAt(b) == nil) {
			return p.entryTrees(a, b)
		}
	case isList:
		if (addressAt(a) == nil) == (addressAt(b) == nil) {
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

func (p *plan) fieldTrees(a, b unsafe.Pointer) (any, any, bool, error) {
	l := make(map[string]any, p.setFields(a))
	r := l // as long as they are the same
	same := !p.partial
	differ := func() {
		if same = false; json.IsSameMap(l, r) {
			r = maps.Clone(l)
		}
	}
	for i := range p.fields {
		f := &p.fields[i]
		if f.omitEmpty && f.isUnset(a) && f.isUnset(b) {
			continue
		}
		outA, outB := f.isLeftOut(a), f.isLeftOut(b)
		if outA && outB {
			same = same && f.plan.isHollow(f.at(a)) == f.plan.isHollow(f.at(b))
			continue
		}
		if !outA && !outB {
			x, y, both, err := f.trees(a, b)
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
		in, of := l, a
		if outA {
			in, of = r, b
		}
		var err error
		if in[f.name], err = f.plan.tree(f.at(of)); err != nil {
			return nil, nil, false, err
		}
	}
	return l, r, same, nil
}

// trees returns the trees of the field of two structs.
func (f *field) trees(a, b unsafe.Pointer) (x, y any, same bool, err error) {
	if !f.isSame(a, b) {
		return f.plan.trees(f.at(a), f.at(b))
	}
	x, err = f.plan.tree(f.at(a))
	return x, x, true, err
}

// entryTrees is trees of two maps, both nil or neither.
func (p *plan) entryTrees(a, b unsafe.Pointer) (x, y any, same bool, err error) {
	if x, err = p.tree(a); err != nil {
		return nil, nil, false, err
	}
	if addressAt(a) == addressAt(b) {
		return x, x, true, nil
	}
	if own, ok := p.textsAt(a); ok {
		if other, _ := p.textsAt(b); maps.Equal(own, other) {
			return x, x, true, nil
		}
	}
	y, err = p.tree(b)
	return x, y, false, err
}

// listTrees is trees of two lists, both nil or neither.
func (p *plan) listTrees(a, b unsafe.Pointer) (x, y any, same bool, err error) {
	own, other := listAt(a), listAt(b)
	if own.first == nil || own.isOne(other) {
		x, err = p.tree(a)
		return x, x, true, err
	}
	l, r, sames, err := p.itemTrees(own, other)
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
func (p *plan) itemTrees(a, b list) (l, r []any, same []bool, err error) {
	n := min(a.len, b.len)
	l, r, same = make([]any, a.len), make([]any, b.len), make([]bool, n)
	for i := range n {
		if l[i], r[i], same[i], err = p.elem.trees(p.item(a, i), p.item(b, i)); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := n; i < len(l); i++ {
		if l[i], err = p.elem.tree(p.item(a, i)); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := n; i < len(r); i++ {
		if r[i], err = p.elem.tree(p.item(b, i)); err != nil {
			return nil, nil, nil, err
		}
	}
	return l, r, same, nil
}
