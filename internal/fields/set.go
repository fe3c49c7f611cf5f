package fields

import "slices"

// Set is a set of paths, as a tree of their elements. A nil *Set is empty; any other has at least one path. It is
// immutable.
type Set struct{ nodes []node }

// node is an element with the paths that end at it or go below it.
type node struct {
	element
	member bool // a path ends here
	below  *Set // the rest of longer paths
}

// NewSet returns the set of top-level fields with the given names.
func NewSet(names ...string) *Set {
	var nodes []node
	for _, name := range names {
		nodes = append(nodes, node{element: fieldElement(name), member: true})
	}
	return newSet(nodes)
}

// newSet returns the set with the given nodes. It keeps and sorts the slice. The elements must differ.
func newSet(nodes []node) *Set {
	if len(nodes) == 0 {
		return nil
	}
	sorted := true
	for i := 1; i < len(nodes) && sorted; i++ {
		sorted = compareElements(nodes[i-1].element, nodes[i].element) < 0
	}
	if !sorted {
		slices.SortFunc(nodes, func(a, b node) int { return compareElements(a.element, b.element) })
	}
	return &Set{nodes}
}

func (s *Set) list() []node {
	if s == nil {
		return nil
	}
	return s.nodes
}

// get returns the node of an element, or nil.
func (s *Set) get(e element) *node {
	nodes := s.list()
	i, ok := slices.BinarySearchFunc(nodes, e, func(n node, e element) int { return compareElements(n.element, e) })
	if !ok {
		return nil
	}
	return &nodes[i]
}

// getField returns the node of a field, or nil.
func (s *Set) getField(name string) *node {
	nodes := s.list()
	lo, hi := 0, len(nodes)
	for lo < hi {
		mid := (lo + hi) / 2
		if nodes[mid].item == nil && nodes[mid].name() < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(nodes) && nodes[lo].item == nil && nodes[lo].name() == name {
		return &nodes[lo]
	}
	return nil
}

// contains reports whether s has every path of other.
func (s *Set) contains(other *Set) bool {
	if s == other {
		return true
	}
	a, b := s.list(), other.list()
	if len(b) > len(a) {
		return false
	}
	i := 0
	for j := range b {
		for i < len(a) && compareElements(a[i].element, b[j].element) < 0 {
			i++
		}
		if i == len(a) || compareElements(a[i].element, b[j].element) != 0 ||
			b[j].member && !a[i].member || !a[i].below.contains(b[j].below) {
			return false
		}
	}
	return true
}

// union returns the paths of both sets. The result is one of the sets if that has all paths.
func union(a, b *Set) *Set {
	switch {
	case b.contains(a):
		return b
	case a.contains(b):
		return a
	}
	return unite(a, b)
}

func unite(a, b *Set) *Set {
	if a == nil {
		return b
	}
	if b == nil || a == b {
		return a
	}
	out := make([]node, 0, max(len(a.nodes), len(b.nodes))+1)
	i, j := 0, 0
	for i < len(a.nodes) && j < len(b.nodes) {
		x, y := &a.nodes[i], &b.nodes[j]
		switch c := compareElements(x.element, y.element); {
		case c < 0:
			out = append(out, *x)
			i++
		case c > 0:
			out = append(out, *y)
			j++
		default:
			out = append(out, node{x.element, x.member || y.member, unite(x.below, y.below)})
			i, j = i+1, j+1
		}
	}
	out = append(out, a.nodes[i:]...)
	return &Set{append(out, b.nodes[j:]...)}
}

// intersection returns the paths that are in both sets.
func intersection(a, b *Set) *Set {
	if a == nil || b == nil {
		return nil
	}
	var out []node
	i, j := 0, 0
	for i < len(a.nodes) && j < len(b.nodes) {
		x, y := &a.nodes[i], &b.nodes[j]
		switch c := compareElements(x.element, y.element); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			member, below := x.member && y.member, intersection(x.below, y.below)
			if member || below != nil {
				out = append(out, node{x.element, member, below})
			}
			i, j = i+1, j+1
		}
	}
	if out == nil {
		return nil
	}
	return &Set{out}
}

// difference returns the paths of a that are not in b. It keeps paths below a path of b. The result is a itself if
// nothing is removed.
func difference(a, b *Set) *Set { return subtract(a, b, false) }

// differenceBelow is difference, but also removes paths below a path of b.
func differenceBelow(a, b *Set) *Set { return subtract(a, b, true) }

func subtract(a, b *Set, below bool) *Set {
	if a == nil || b == nil {
		return a
	}
	var out []node
	changed := false
	j := 0
	for i := range a.nodes {
		x := &a.nodes[i]
		for j < len(b.nodes) && compareElements(b.nodes[j].element, x.element) < 0 {
			j++
		}
		kept := *x
		if j < len(b.nodes) && compareElements(b.nodes[j].element, x.element) == 0 {
			y := &b.nodes[j]
			kept.member = x.member && !y.member
			if below && y.member {
				kept.below = nil
			} else {
				kept.below = subtract(x.below, y.below, below)
			}
		}
		if !changed && (kept.member != x.member || kept.below != x.below) {
			changed = true
			out = append(make([]node, 0, len(a.nodes)), a.nodes[:i]...)
		}
		if changed && (kept.member || kept.below != nil) {
			out = append(out, kept)
		}
	}
	switch {
	case !changed:
		return a
	case len(out) == 0:
		return nil
	}
	return &Set{out}
}

// each calls f for the paths of the set in the order of upstream's messages: at each level, paths that end there come
// first. The slice is reused for the next path.
func (s *Set) each(path []element, f func([]element)) {
	for _, n := range s.list() {
		if n.member {
			f(append(path, n.element))
		}
	}
	for _, n := range s.list() {
		if n.below != nil {
			n.below.each(append(path, n.element), f)
		}
	}
}
