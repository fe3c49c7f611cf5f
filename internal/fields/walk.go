package fields

import "github.com/fakecluster/fakecluster/internal/schema"

// walk is one walk over objects. It declines what upstream would reject, and unusual cases. Its results are then
// invalid.
type walk struct {
	tree     *Tree
	declined string // why; empty: not declined
	// hollow is set if the walk has found an empty set or map-like list, which is not in sets of fields.
	hollow bool
	// defaulted is set if an item was identified by the default of one of its keys.
	defaulted bool
	// everything makes own include fields that no manager ever owns.
	everything bool
}

func (w *walk) decline(why string) {
	if w.declined == "" {
		w.declined = why
	}
}

// none is the value of a field that does not exist.
type none struct{}

var absent any = none{}

func (w *walk) shapeOf(v any) shape {
	switch v.(type) {
	case map[string]any:
		return isMap
	case string, int64, float64, bool:
		return isScalar
	case []any:
		return isList
	case nil:
		return isNull
	case none:
		return isAbsent
	}
	w.decline("a value that JSON does not have")
	return isNull
}

// atom returns the shape as which a value of a place is treated. Null and absent values get a shape that the schema
// allows.
func (w *walk) atom(p place, v any) shape {
	allowed := shapesOf(p.Node)
	s := w.shapeOf(v)
	switch {
	case s == isNull, s == isAbsent:
		return allowed
	case s&allowed == 0:
		w.decline("a value of another type than the schema has")
	case p.IntOrString && s != isScalar:
		w.decline("a value of another type than the schema has")
	case s == isScalar:
		w.checkScalar(p.Node, v)
	}
	return s
}

func (w *walk) checkScalar(n *schema.Node, v any) {
	if !isScalarOf(n, v) {
		w.decline("a value of another type than the schema has")
	}
}

func isScalarOf(n *schema.Node, v any) bool {
	ok := true
	switch v.(type) {
	case string:
		ok = n.Type == "string" || n.Type == ""
	case int64:
		ok = n.Type == "integer" || n.Type == "number" || n.Type == ""
	case float64:
		ok = !n.IntOrString && (n.Type == "integer" || n.Type == "number" || n.Type == "")
	case bool:
		ok = !n.IntOrString && (n.Type == "boolean" || n.Type == "")
	}
	return ok
}

// handled returns the one of several shapes as which a value is treated.
func handled(s shape) shape {
	switch {
	case s&isMap != 0:
		return isMap
	case s&isScalar != 0:
		return isScalar
	}
	return isList
}

// check declines a value that upstream would reject.
func (w *walk) check(p place, v any) {
	w.atom(p, v)
	if w.declined != "" {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			if below, _, ok := p.field(name, w.tree); ok {
				w.check(below, child)
			} else {
				w.decline("a field that the schema does not have")
			}
		}
	case []any:
		item := p.item()
		if p.List != schema.Atomic {
			w.index(p, v)
			w.hollow = w.hollow || len(v) == 0
		}
		for _, child := range v {
			w.check(item, child)
		}
	}
}

// equal compares values as upstream does: 1 and 1.0 are the same.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok || !equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case int64:
		f, ok := b.(float64)
		return b == a || ok && f == float64(a)
	case float64:
		n, ok := b.(int64)
		return b == a || ok && float64(n) == a
	case nil, string, bool:
		return a == b
	}
	return false
}
