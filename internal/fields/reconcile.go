package fields

import "github.com/fakecluster/fakecluster/internal/schema"

// reconcile adapts a set to the current schema: the owner of fields or items of a map or list that has become atomic
// owns it as a whole. It returns the set itself if nothing changes.
func (w *walk) reconcile(s *Set) *Set {
	root := w.tree.place()
	if !w.goesBelow(root) {
		return s
	}
	return w.reconcileBelow(s, root)
}

func (w *walk) reconcileBelow(s *Set, p place) *Set {
	var out []node
	for i, n := range s.list() {
		below, ok := w.placeOf(n.element, p)
		kept := n
		if ok {
			if w.isWhole(n, below) {
				kept.member, kept.below = true, nil
			} else if n.below != nil && w.goesBelow(below) {
				kept.below = w.reconcileBelow(n.below, below)
			}
		}
		if out == nil && (kept.member != n.member || kept.below != n.below) {
			out = append(make([]node, 0, len(s.nodes)), s.nodes[:i]...)
		}
		if out != nil {
			out = append(out, kept)
		}
	}
	if out == nil {
		return s
	}
	return &Set{out}
}

// placeOf returns the place of an element of a set. ok is false if the schema does not have it.
func (w *walk) placeOf(e element, p place) (place, bool) {
	if shapesOf(p.Node)&isMap == 0 {
		return p.item(), true
	}
	if e.item == nil {
		below, _, ok := p.field(e.name(), w.tree)
		return below, ok
	}
	switch {
	case p.Additional != nil:
		return p.below(p.Additional), true
	case p.Closed:
		return place{}, false
	case p.preserve, len(p.Properties) == 0 && !p.resource:
		return place{Node: anything}, true
	}
	return place{}, false
}

// isWhole reports whether a node must become a single member: its schema is atomic, but the set has members below it.
func (w *walk) isWhole(n node, here place) bool {
	if n.member && n.below == nil {
		return false
	}
	switch handled(shapesOf(here.Node)) {
	case isList:
		return here.List == schema.Atomic
	case isMap:
		if here.AtomicMap && n.below != nil && !isFree(here) {
			if here.Additional != nil && here.Additional.Type == "string" {
				w.decline("a map of texts that became one whole")
			}
			return true
		}
	}
	return false
}

// goesBelow reports whether upstream descends below a place.
func (w *walk) goesBelow(here place) bool {
	switch handled(shapesOf(here.Node)) {
	case isMap:
		return !isFree(here)
	case isList:
		return true
	}
	return false
}

// isFree reports whether a map allows any field and has no fields with a schema. Upstream does not change such maps.
func isFree(p place) bool {
	if len(p.Properties) > 0 || p.resource {
		return false
	}
	n := p.Additional
	return n == nil || n != untyped && (n.Type == "" || n.IntOrString)
}
