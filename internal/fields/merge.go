package fields

import (
	"maps"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/schema"
)

// merged is the result of merging a configuration into a value.
type merged struct {
	value any
	// same: the value is the live one itself, not only equal to it.
	same bool
}

// merge merges a configuration into an object. It alters neither; the result shares unchanged values.
func (w *walk) merge(live, config map[string]any) merged {
	return w.mergeMaps(w.tree.place(), live, config)
}

// mergeValue merges two values. One of them may be absent.
func (w *walk) mergeValue(p place, l, r any) merged {
	switch {
	case r == absent:
		return merged{l, true}
	case l == absent:
		return merged{r, false}
	}
	s := w.atom(p, r)
	w.atom(p, l)
	if w.declined != "" {
		return merged{l, true}
	}
	switch handled(s) {
	case isMap:
		before, _ := l.(map[string]any)
		after, _ := r.(map[string]any)
		if p.AtomicMap || len(before) == 0 && len(after) == 0 {
			return replaced(l, r)
		}
		if before == nil {
			return merged{after, false}
		}
		return w.mergeMaps(p, before, after)
	case isList:
		before, _ := l.([]any)
		after, _ := r.([]any)
		if p.List == schema.Atomic || len(before) == 0 && len(after) == 0 {
			return replaced(l, r)
		}
		if before == nil {
			return merged{after, false}
		}
		return w.mergeLists(p, before, after)
	}
	return replaced(l, r)
}

// replaced returns the second value, or the first one if both have the same JSON. Unlike for equal, 1 and 1.0 differ.
func replaced(l, r any) merged {
	if json.SemanticallyEqual(l, r) {
		return merged{l, true}
	}
	return merged{r, false}
}

func (w *walk) mergeMaps(p place, live, config map[string]any) merged {
	var out map[string]any
	for name, r := range config {
		l, ok := live[name]
		if !ok {
			l = absent
		}
		below, _, ok := p.field(name, w.tree)
		if !ok {
			w.decline("a field that the schema does not have")
			return merged{live, true}
		}
		m := w.mergeValue(below, l, r)
		if m.same {
			continue
		}
		if out == nil {
			out = maps.Clone(live)
		}
		out[name] = m.value
	}
	if out == nil {
		return merged{live, true}
	}
	return merged{out, false}
}

// mergeLists merges sets and map-like lists. The items have the order of the configuration; other live items stay before
// the item that follows them.
func (w *walk) mergeLists(p place, live, config []any) merged {
	l, r := w.index(p, live), w.index(p, config)
	if w.declined != "" {
		return merged{live, true}
	}
	inConfig, inLive := l.match(r), r.match(l)
	item := p.item()
	out := make([]any, 0, max(len(live), len(config)))
	same := true
	take := func(i, j int) {
		var m merged
		switch {
		case j < 0:
			m = merged{live[i], true}
		case i < 0:
			m = merged{config[j], false}
		default:
			m = w.mergeValue(item, live[i], config[j])
		}
		same = same && m.same && i == len(out)
		out = append(out, m.value)
	}

	// next is the first remaining item of the configuration that is also live.
	next := -1
	advance := func() {
		for next++; next < len(config) && inLive[next] < 0; next++ {
		}
	}
	advance()
	done := make([]bool, len(config))
	for i, j := 0, 0; i < len(live) || j < len(config); {
		if i < len(live) && j < len(config) {
			if inConfig[i] == j {
				done[j] = true
				take(i, j)
				i, j = i+1, j+1
				advance()
				continue
			}
			if inConfig[i] >= 0 && next < len(config) && inConfig[i] != next {
				i++ // added with the item of the configuration
				continue
			}
		}
		if i < len(live) {
			if inConfig[i] < 0 {
				take(i, -1)
				i++
				continue
			}
			if done[inConfig[i]] {
				i++
			}
		}
		if j < len(config) {
			done[j] = true
			take(inLive[j], j)
			if next == j {
				advance()
			}
			j++
		}
	}
	if same && len(out) == len(live) {
		return merged{live, true}
	}
	return merged{out, false}
}
