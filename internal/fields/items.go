package fields

import (
	"slices"

	"github.com/fakecluster/fakecluster/internal/schema"
)

// items has the items of a set or a map-like list, with their keys.
type items struct {
	values []any
	names  []string // of the keys, sorted; nil: a set
	keys   []any    // by item, then by key; absent: the item does not have the key
}

// fewItems is the number of items up to which pairwise comparison is faster than a map.
const fewItems = 8

// index returns the keys of the items of a list. It declines a list with duplicate items, which is invalid unless it is
// older than the rule.
func (w *walk) index(p place, list []any) items {
	it := items{values: list}
	if len(list) == 0 {
		return it
	}
	if p.List == schema.Set || len(p.Keys) == 0 {
		it.keys = list
		for _, v := range list {
			if w.shapeOf(v) != isScalar {
				w.decline("an item of a set that is not a scalar")
				return items{}
			}
		}
	} else {
		it.names = p.Keys
		if !slices.IsSorted(it.names) {
			it.names = slices.Sorted(slices.Values(it.names))
		}
		node := itemsOf(p.Node)
		it.keys = make([]any, 0, len(list)*len(it.names))
		for _, v := range list {
			m, ok := v.(map[string]any)
			if !ok || shapesOf(node)&isMap == 0 {
				w.decline("an item without keys")
				return items{}
			}
			found := false
			for _, name := range it.names {
				v, ok := m[name]
				if !ok {
					v = absent
					if n := node.Properties[name]; n != nil && n.Default != nil {
						v, w.defaulted = n.Default, true
					}
				}
				switch v.(type) {
				case string, int64, float64, bool:
					found = true
				case none:
				default:
					w.decline("a key that is not a scalar")
					return items{}
				}
				it.keys = append(it.keys, v)
			}
			if !found {
				w.decline("an item without keys")
				return items{}
			}
		}
	}
	if it.repeats() {
		w.decline("items that are the same")
	}
	return it
}

// width returns the number of keys of an item.
func (it items) width() int { return max(1, len(it.names)) }

func (it items) same(i int, other items, j int) bool {
	n := it.width()
	for k := range n {
		if !equalKeys(it.keys[i*n+k], other.keys[j*n+k]) {
			return false
		}
	}
	return true
}

func equalKeys(a, b any) bool {
	if a == absent || b == absent {
		return a == b
	}
	return equal(a, b)
}

func (it items) repeats() bool {
	if len(it.values) <= fewItems {
		for i := range it.values {
			for j := range i {
				if it.same(i, it, j) {
					return true
				}
			}
		}
		return false
	}
	places := it.places()
	for i := range it.values {
		if it.find(places, i, it) != i {
			return true
		}
	}
	return false
}

// places has the indices of items by their first key, the last item first.
type places struct {
	last  map[any]int
	chain []int // by item: the previous item with the same first key; -1: none
}

func (it items) places() places {
	p := places{make(map[any]int, len(it.values)), make([]int, len(it.values))}
	n := it.width()
	for i := range it.values {
		first := normal(it.keys[i*n])
		before, ok := p.last[first]
		if !ok {
			before = -1
		}
		p.chain[i], p.last[first] = before, i
	}
	return p
}

// normal returns the same value for equal keys.
func normal(v any) any {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v
}

// find returns the index of the item with the same keys as item j of other, or -1.
func (it items) find(p places, j int, other items) int {
	i, ok := p.last[normal(other.keys[j*it.width()])]
	for ok && i >= 0 {
		if it.same(i, other, j) {
			return i
		}
		i = p.chain[i]
	}
	return -1
}

// match returns, for each item, the index of the item of other with the same keys, or -1.
func (it items) match(other items) []int {
	positions := make([]int, len(it.values))
	few := len(other.values) <= fewItems
	var p places
	for i := range it.values {
		positions[i] = -1
		if i < len(other.values) && it.same(i, other, i) {
			positions[i] = i
			continue
		}
		if few {
			for j := range other.values {
				if it.same(i, other, j) {
					positions[i] = j
					break
				}
			}
			continue
		}
		if p.last == nil {
			p = other.places()
		}
		positions[i] = other.find(p, i, it)
	}
	return positions
}

// element returns the path element of an item.
func (it items) element(w *walk, i int) element {
	var e element
	ok := false
	if it.names == nil {
		e, ok = valueElement(it.keys[i])
	} else {
		n := it.width()
		keys := make([]key, 0, n)
		for k, name := range it.names {
			if v := it.keys[i*n+k]; v != absent {
				keys = append(keys, key{name, v})
			}
		}
		e, ok = keysElement(keys)
	}
	if !ok {
		w.decline("a key that cannot be written exactly")
	}
	return e
}
