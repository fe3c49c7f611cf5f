package fieldstest

import (
	"maps"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// Generator makes random choices, metadata and changes.
type Generator struct{ *rand.Rand }

// One returns true in the given percentage of cases.
func (g Generator) One(percent int) bool { return g.IntN(100) < percent }

// Metadata returns random metadata for an object.
func (g Generator) Metadata() map[string]any {
	m := map[string]any{"name": "n"}
	for _, key := range []string{"labels", "annotations"} {
		if g.One(60) {
			texts := map[string]any{}
			for range 1 + g.IntN(3) {
				texts[seedtest.Pick(g, "app", "tier", "x.io/y", "z")] = seedtest.Pick[any](g, "1", "2", "")
			}
			m[key] = texts
		}
	}
	if g.One(40) {
		m["finalizers"] = []any{seedtest.Pick(g, "x.io/f", "y.io/f")}
		if g.One(30) {
			m["finalizers"] = []any{"y.io/f", "x.io/f", "z.io/f"}[g.IntN(2):]
		}
	}
	if g.One(40) {
		owner := map[string]any{"apiVersion": "v1", "kind": "Pod", "name": seedtest.Pick(g, "p", "q"), "uid": seedtest.Pick(g, "1", "2", "3")}
		if g.One(50) {
			owner["controller"] = true
		}
		m["ownerReferences"] = []any{owner}
	}
	if g.One(10) {
		m["generateName"] = "n"
	}
	if g.One(5) {
		m["creationTimestamp"] = nil
	}
	return m
}

// Changed returns a copy of a value with random changes, which take parts of other, a value
// of the same shape. Fields that may be keys of items stay as they are, so that most items
// keep their identity.
func (g Generator) Changed(v, other any, percent int, isKey func(field string) bool) any {
	if g.One(percent) {
		return runtime.DeepCopyJSONValue(other)
	}
	switch v := v.(type) {
	case map[string]any:
		from, _ := other.(map[string]any)
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if isKey(name) || !g.One(percent/2) {
				with, ok := from[name]
				if !ok {
					with = v[name]
				}
				out[name] = g.Changed(v[name], with, percent, isKey)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(from)) {
			if _, ok := v[name]; !ok && g.One(percent) {
				out[name] = runtime.DeepCopyJSONValue(from[name])
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			if g.One(percent / 2) {
				continue
			}
			with := item
			if from, ok := other.([]any); ok && len(from) > 0 && g.One(50) {
				with = from[g.IntN(len(from))]
			}
			out = append(out, g.mixed(item, with, percent, isKey))
		}
		if g.One(percent) {
			g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	}
	return runtime.DeepCopyJSONValue(v)
}

// mixed returns an item with its own keys and values of another item.
func (g Generator) mixed(item, with any, percent int, isKey func(string) bool) any {
	m, ok := item.(map[string]any)
	if !ok {
		return item
	}
	out, _ := g.Changed(m, with, percent, isKey).(map[string]any)
	if out == nil {
		return runtime.DeepCopyJSONValue(item)
	}
	maps.DeleteFunc(out, func(name string, _ any) bool { return isKey(name) })
	for name, value := range m {
		if isKey(name) {
			out[name] = runtime.DeepCopyJSONValue(value)
		}
	}
	return out
}
