package fields

import "github.com/fakecluster/fakecluster/internal/schema"

// prune removes from a merged object the fields that the applier applied last time and does not apply now, if no other
// manager owns them.
//
// The steps are upstream's, because each has its corner cases: remove everything that was applied last time; add the
// fields of other managers again; add everything again that the applier had not applied itself, such as a default below
// one of its fields.
//
// The walk must have everything set, because prune drops fields that the walk leaves out.
func (w *walk) prune(obj map[string]any, last, owned *Set) map[string]any {
	root := w.tree.place()
	mine := w.withNamed(w.own(obj, nil), root)
	last = w.withNamed(last, root)
	left := w.remaining(w.without(root, obj, last))
	left = w.remaining(w.without(root, obj, difference(mine, union(left, w.withNamed(owned, root)))))
	out, _ := w.without(root, obj, intersection(difference(mine, left), last)).(map[string]any)
	return out
}

// remaining returns the set of the fields that an object still has.
func (w *walk) remaining(obj any) *Set {
	m, ok := obj.(map[string]any)
	if !ok {
		return nil
	}
	return w.withNamed(w.own(m, nil), w.tree.place())
}

// withNamed adds to a set each field with its own schema that has members of the set below it.
func (w *walk) withNamed(s *Set, p place) *Set {
	if s == nil {
		return nil
	}
	nodes := make([]node, len(s.nodes))
	for i, n := range s.nodes {
		nodes[i] = n
		if n.below == nil {
			continue
		}
		var below place
		named := false
		if p.Node != nil {
			shapes := shapesOf(p.Node)
			switch {
			case n.item == nil && shapes&isMap != 0:
				below, named, _ = p.field(n.name(), w.tree)
			case n.item != nil && n.item.kind == byKeys && shapes&isList != 0:
				below = p.item()
			}
		}
		nodes[i].member = n.member || named
		nodes[i].below = w.withNamed(n.below, below)
	}
	return &Set{nodes}
}

// without returns a copy of a value without the fields and items of a set. A map or list
// that becomes empty becomes null.
func (w *walk) without(p place, v any, gone *Set) any {
	switch v := v.(type) {
	case map[string]any:
		if p.AtomicMap || len(v) == 0 {
			return nil
		}
		out := make(map[string]any, len(v))
		for name, child := range v {
			n := gone.getField(name)
			switch {
			case n == nil:
				out[name] = child
			case n.member:
			default:
				below, _, _ := p.field(name, w.tree)
				out[name] = w.without(below, child, n.below)
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		if p.List == schema.Atomic || len(v) == 0 {
			return nil
		}
		it := w.index(p, v)
		if w.declined != "" {
			return nil
		}
		var out []any
		for i, child := range v {
			n := gone.get(it.element(w, i))
			switch {
			case n == nil:
				out = append(out, child)
			case n.member:
			default:
				out = append(out, w.without(p.item(), child, n.below))
			}
		}
		if out == nil {
			return nil
		}
		return out
	}
	return v
}
