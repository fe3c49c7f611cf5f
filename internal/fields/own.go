package fields

import (
	"math/bits"

	"github.com/fakecluster/fakecluster/internal/schema"
)

// own returns the set of the fields that an applier of the object owns. It leaves out the fields that no manager ever
// owns (see isServerMade), unless everything is set. It declines what upstream would reject in a configuration.
//
// like is a set that the result may equal. The result shares equal parts, so that a manager that applies the same fields
// again gets the identical set.
func (w *walk) own(obj map[string]any, like *Set) *Set {
	root := w.tree.place()
	b := building{like: like}
	for name, value := range obj {
		field, named, ok := root.field(name, w.tree)
		if !ok {
			w.decline("a field that the schema does not have")
			return nil
		}
		switch {
		case w.everything:
			w.ownField(&b, field, named, name, value)
		case name == "apiVersion", name == "kind":
		case name == "metadata":
			m, ok := value.(map[string]any)
			if !ok && value != nil {
				w.decline("metadata of another type")
				return nil
			}
			previous := like.getField(name)
			if below := w.ownFields(field, m, true, previous.under()); below != nil {
				b.addField(name, previous, false, below)
			}
		default:
			w.ownField(&b, field, named, name, value)
		}
	}
	return b.set()
}

func (w *walk) ownFields(p place, m map[string]any, isMetadata bool, like *Set) *Set {
	if len(m) == 0 {
		return nil
	}
	b := building{like: like}
	for name, value := range m {
		below, named, ok := p.field(name, w.tree)
		if !ok {
			w.decline("a field that the schema does not have")
			return nil
		}
		if isMetadata && isServerMade(name) {
			w.check(below, value)
			continue
		}
		w.ownField(&b, below, named, name, value)
	}
	return b.set()
}

func (w *walk) ownField(b *building, here place, named bool, name string, value any) {
	previous := b.like.getField(name)
	member, below := w.ownValue(here, value, previous.under())
	m, isMap := value.(map[string]any)
	member = member || !named || value == nil || isMap && len(m) == 0
	if member || below != nil {
		b.addField(name, previous, member, below)
	}
}

// ownValue reports whether the value itself is owned, and returns the set below it.
func (w *walk) ownValue(p place, v any, like *Set) (self bool, below *Set) {
	s := w.atom(p, v)
	if w.declined != "" {
		return false, nil
	}
	switch handled(s) {
	case isMap:
		if p.AtomicMap {
			w.check(p, v)
			return true, nil
		}
		m, _ := v.(map[string]any)
		return false, w.ownFields(p, m, false, like)
	case isList:
		if p.List == schema.Atomic {
			w.check(p, v)
			return true, nil
		}
		list, _ := v.([]any)
		return false, w.ownItems(p, list, like)
	}
	return true, nil
}

func (w *walk) ownItems(p place, list []any, like *Set) *Set {
	it := w.index(p, list)
	if w.declined != "" || len(list) == 0 {
		return nil
	}
	item := p.item()
	b := building{like: like}
	for i, v := range list {
		e := it.element(w, i)
		previous := like.get(e)
		_, below := w.ownValue(item, v, previous.under())
		b.add(e, previous, true, below)
	}
	return b.set()
}

// building is a set under construction. While it equals a part of another set, it only records which nodes of that set
// it has.
type building struct {
	like  *Set
	has   uint64 // the nodes of like, as bits by index
	nodes []node
	built bool // nodes has all nodes
}

// under returns the set below a node, which may be nil.
func (n *node) under() *Set {
	if n == nil {
		return nil
	}
	return n.below
}

// isLike records a node if like has the same one: previous is its node with the same element.
func (b *building) isLike(previous *node, member bool, below *Set) bool {
	if b.built {
		return false
	}
	if previous != nil && previous.member == member && previous.below == below && len(b.like.nodes) <= 64 {
		for i := range b.like.nodes {
			if &b.like.nodes[i] == previous {
				b.has |= 1 << i
				return true
			}
		}
	}
	b.build()
	return false
}

// build stops sharing with the other set and copies its nodes.
func (b *building) build() {
	b.built = true
	b.nodes = make([]node, 0, max(len(b.like.list())+1, 4))
	for i, n := range b.like.list() {
		if i < 64 && b.has&(1<<i) != 0 {
			b.nodes = append(b.nodes, n)
		}
	}
}

func (b *building) addField(name string, previous *node, member bool, below *Set) {
	if b.isLike(previous, member, below) {
		return
	}
	if previous != nil {
		b.nodes = append(b.nodes, node{previous.element, member, below})
	} else {
		b.nodes = append(b.nodes, node{fieldElement(name), member, below})
	}
}

func (b *building) add(e element, previous *node, member bool, below *Set) {
	if !b.isLike(previous, member, below) {
		b.nodes = append(b.nodes, node{e, member, below})
	}
}

func (b *building) set() *Set {
	if !b.built {
		if b.like != nil && bits.OnesCount64(b.has) == len(b.like.nodes) {
			return b.like
		}
		b.build()
	}
	return newSet(b.nodes)
}
