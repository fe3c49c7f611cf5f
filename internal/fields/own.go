package fields

import "github.com/fakecluster/fakecluster/internal/schema"

// own is the set of what an object has: what an applier of it owns. What nobody ever
// owns it leaves out, unless the walk is to see everything. It declines what upstream
// would refuse in a configuration.
func (w *walk) own(obj map[string]any) *Set {
	root := w.tree.place()
	nodes := make([]node, 0, len(obj))
	for name, value := range obj {
		at, named, ok := root.field(name, w.tree)
		if !ok {
			w.decline("a field that the schema does not have")
			return nil
		}
		switch {
		case w.everything:
			nodes = w.ownField(nodes, at, named, name, value)
		case name == "apiVersion", name == "kind":
		case name == "metadata":
			m, ok := value.(map[string]any)
			if !ok && value != nil {
				w.decline("metadata of another type")
				return nil
			}
			if below := w.ownFields(at, m, true); below != nil {
				nodes = append(nodes, node{fieldElement(name), false, below})
			}
		default:
			nodes = w.ownField(nodes, at, named, name, value)
		}
	}
	return newSet(nodes)
}

func (w *walk) ownFields(p place, m map[string]any, isMetadata bool) *Set {
	if len(m) == 0 {
		return nil
	}
	nodes := make([]node, 0, len(m))
	for name, value := range m {
		at, named, ok := p.field(name, w.tree)
		if !ok {
			w.decline("a field that the schema does not have")
			return nil
		}
		if isMetadata && isServerMade(name) {
			w.check(at, value)
			continue
		}
		nodes = w.ownField(nodes, at, named, name, value)
	}
	return newSet(nodes)
}

func (w *walk) ownField(nodes []node, at place, named bool, name string, value any) []node {
	member, below := w.ownValue(at, value)
	m, isMap := value.(map[string]any)
	member = member || !named || value == nil || isMap && len(m) == 0
	if member || below != nil {
		nodes = append(nodes, node{fieldElement(name), member, below})
	}
	return nodes
}

// ownValue is what is owned of a value: itself, and what is below it.
func (w *walk) ownValue(p place, v any) (self bool, below *Set) {
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
		return false, w.ownFields(p, m, false)
	case isList:
		if p.List == schema.Atomic {
			w.check(p, v)
			return true, nil
		}
		list, _ := v.([]any)
		return false, w.ownItems(p, list)
	}
	return true, nil
}

func (w *walk) ownItems(p place, list []any) *Set {
	it := w.index(p, list)
	if w.declined != "" || len(list) == 0 {
		return nil
	}
	at := p.item()
	nodes := make([]node, 0, len(list))
	for i, v := range list {
		_, below := w.ownValue(at, v)
		nodes = append(nodes, node{it.element(w, i), true, below})
	}
	return newSet(nodes)
}
