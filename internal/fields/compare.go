package fields

import (
	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/schema"
)

// comparison is the difference between two objects: the fields that the second one adds, lacks, or has with another
// value.
type comparison struct{ added, removed, modified *Set }

func (c comparison) filtered(f Filter) comparison {
	if f == nil {
		return c
	}
	return comparison{f(c.added), f(c.removed), f(c.modified)}
}

// change describes how one value changed: at its own path, and below.
type change struct {
	comparison
	self changes
}

type changes uint8

const (
	added changes = 1 << iota
	removed
	modified
)

// compare compares two objects. It leaves out the fields that no manager ever owns (see
// isServerMade).
func (w *walk) compare(before, after map[string]any) comparison {
	var c collector
	root := w.tree.place()
	pairs(before, after, func(name string, l, r any) {
		switch name {
		case "apiVersion", "kind":
			return
		case "metadata":
			below, _, ok := root.field(name, w.tree)
			if !ok {
				w.decline("a field that the schema does not have")
				return
			}
			c.add(fieldElement(name), w.compareMetadata(below, l, r))
			return
		}
		w.compareField(&c, root, name, l, r)
	})
	return c.sets()
}

func (w *walk) compareMetadata(here place, before, after any) change {
	l, ok1 := before.(map[string]any)
	r, ok2 := after.(map[string]any)
	if !ok1 && before != absent || !ok2 && after != absent {
		w.decline("metadata of another type")
		return change{}
	}
	var c collector
	pairs(l, r, func(name string, l, r any) {
		if !isServerMade(name) {
			w.compareField(&c, here, name, l, r)
		}
	})
	return change{comparison: c.sets()}
}

// pairs calls f for each field of one of two maps. A missing value is absent.
func pairs(before, after map[string]any, f func(name string, l, r any)) {
	both := 0
	for name, l := range before {
		r, ok := after[name]
		if ok {
			both++
		} else {
			r = absent
		}
		f(name, l, r)
	}
	if both == len(after) {
		return
	}
	for name, r := range after {
		if _, ok := before[name]; !ok {
			f(name, absent, r)
		}
	}
}

func (w *walk) compareField(c *collector, p place, name string, l, r any) {
	below, _, ok := p.field(name, w.tree)
	if !ok {
		w.decline("a field that the schema does not have")
		return
	}
	// Most values are strings that have not changed.
	if a, ok := l.(string); ok {
		if b, ok := r.(string); ok && a == b && (below.Type == "string" || below.Type == "") {
			return
		}
	}
	if ch := w.compareValue(below, l, r); ch.self != 0 || ch.comparison != (comparison{}) {
		c.add(fieldElement(name), ch)
	}
}

// collector gathers what changed in the fields or items of a value.
type collector struct{ added, removed, modified []node }

// newCollector returns a collector for two values with the given numbers of fields or items.
func newCollector(before, after int) collector {
	if before == 0 {
		return collector{added: make([]node, 0, after)}
	}
	return collector{}
}

func (c *collector) add(e element, ch change) {
	if ch.self&added != 0 || ch.added != nil {
		c.added = append(c.added, node{e, ch.self&added != 0, ch.added})
	}
	if ch.self&removed != 0 || ch.removed != nil {
		c.removed = append(c.removed, node{e, ch.self&removed != 0, ch.removed})
	}
	if ch.self&modified != 0 || ch.modified != nil {
		c.modified = append(c.modified, node{e, ch.self&modified != 0, ch.modified})
	}
}

func (c *collector) sets() comparison {
	return comparison{newSet(c.added), newSet(c.removed), newSet(c.modified)}
}

// compareValue compares two values of a place. One of them may be absent.
func (w *walk) compareValue(p place, l, r any) change {
	al, ar := w.atom(p, l), w.atom(p, r)
	if w.declined != "" {
		return change{}
	}
	switch {
	case r == absent:
		return w.compareAs(p, handled(al), l, r)
	case l == absent, al == ar:
		return w.compareAs(p, handled(ar), l, r)
	}
	// The type has changed: the old value is removed and the new one added.
	a, b := w.compareAs(p, handled(al), l, r), w.compareAs(p, handled(ar), l, r)
	return change{
		comparison{union(a.added, b.added), union(a.removed, b.removed), union(a.modified, b.modified)},
		a.self | b.self,
	}
}

// compareAs compares two values of one shape. A value of another shape is treated as absent.
func (w *walk) compareAs(p place, as shape, l, r any) change {
	switch as {
	case isMap:
		before, _ := l.(map[string]any)
		after, _ := r.(map[string]any)
		if p.AtomicMap || len(before) == 0 && len(after) == 0 {
			return w.compareWhole(p, l, r)
		}
		if json.IsSameMap(before, after) { // an apply shares unchanged values
			w.check(p, l)
			return change{}
		}
		c := newCollector(len(before), len(after))
		pairs(before, after, func(name string, l, r any) { w.compareField(&c, p, name, l, r) })
		return change{c.sets(), presence(l, r)}
	case isList:
		before, _ := l.([]any)
		after, ok := r.([]any)
		if ok && len(after) == 0 && p.List != schema.Atomic {
			w.hollow = true
		}
		if p.List == schema.Atomic || len(before) == 0 && len(after) == 0 {
			return w.compareWhole(p, l, r)
		}
		if len(before) == len(after) && &before[0] == &after[0] {
			w.check(p, l)
			return change{}
		}
		return change{w.compareItems(p, before, after), presence(l, r)}
	}
	return w.compareWhole(p, l, r)
}

// presence returns whether a value was added or removed, if only one object has it.
func presence(l, r any) changes {
	switch {
	case l == absent:
		return added
	case r == absent:
		return removed
	}
	return 0
}

// compareWhole compares two atomic values.
func (w *walk) compareWhole(p place, l, r any) change {
	if p.Node != anything && p.Node != untyped {
		w.checkInside(p, l)
		w.checkInside(p, r)
	}
	if l == absent || r == absent {
		return change{self: presence(l, r)}
	}
	if !equal(l, r) {
		return change{self: modified}
	}
	return change{}
}

// checkInside checks the fields or items of a value.
func (w *walk) checkInside(p place, v any) {
	switch v.(type) {
	case map[string]any, []any:
		w.check(p, v)
	}
}

func (w *walk) compareItems(p place, before, after []any) comparison {
	l, r := w.index(p, before), w.index(p, after)
	if w.declined != "" {
		return comparison{}
	}
	c := newCollector(len(before), len(after))
	item := p.item()
	places := l.match(r)
	both := 0
	for i, v := range before {
		other := absent
		if places[i] >= 0 {
			other = after[places[i]]
			both++
		}
		if ch := w.compareValue(item, v, other); ch.self != 0 || ch.comparison != (comparison{}) {
			c.add(l.element(w, i), ch)
		}
	}
	if both < len(after) {
		for j, i := range r.match(l) {
			if i < 0 {
				c.add(r.element(w, j), w.compareValue(item, absent, after[j]))
			}
		}
	}
	return c.sets()
}
