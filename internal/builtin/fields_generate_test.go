package builtin

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// generator makes random objects of the schemas of kinds, and changes of them.
type generator struct {
	*rand.Rand
	models map[string]*spec.Schema
}

func (g generator) one(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

// resolve is the schema that a reference means, and its name.
func (g generator) resolve(s *spec.Schema) (*spec.Schema, string) {
	for _, ref := range append([]spec.Schema{*s}, s.AllOf...) {
		if url := ref.Ref.String(); url != "" {
			name := url[strings.LastIndexByte(url, '/')+1:]
			return g.models[name], name
		}
	}
	return s, ""
}

// value is a random value of a schema.
func (g generator) value(s *spec.Schema, depth int) any {
	s, name := g.resolve(s)
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "Quantity":
		return pick[any](g, "1", "100m", "1000m", "1Gi", "1024Mi", "0", int64(2))
	case "IntOrString":
		return pick[any](g, int64(1), int64(0), "50%", "http")
	case "Time":
		return pick[any](g, "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z", nil)
	case "MicroTime":
		return pick[any](g, "2026-01-02T03:04:05.000001Z", "2026-01-02T03:04:06.000000Z", nil)
	case "RawExtension", "JSON":
		return map[string]any{"a": pick(g, "x", "y")}
	case "JSONSchemaPropsOrBool":
		return g.one(50)
	case "JSONSchemaPropsOrArray", "JSONSchemaPropsOrStringArray":
		return nil
	}
	if g.one(1) {
		return nil
	}
	switch {
	case s == nil || len(s.Type) == 0:
		return nil
	case s.Type.Contains("string"):
		switch s.Format {
		case "byte":
			return pick[any](g, "YQ==", "")
		case "date-time":
			return "2026-01-02T03:04:05Z"
		}
		return pick[any](g, "a", "b", "c", "", `o"dd <ü>`)
	case s.Type.Contains("integer"):
		return int64(g.IntN(4))
	case s.Type.Contains("number"):
		return pick[any](g, int64(1), 1.5)
	case s.Type.Contains("boolean"):
		return g.one(50)
	case s.Type.Contains("array"):
		return g.list(s, depth)
	}
	return g.fields(s, depth)
}

func (g generator) fields(s *spec.Schema, depth int) any {
	m := map[string]any{}
	if len(s.Properties) == 0 && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		for range g.IntN(3) {
			m[pick(g, "a", "b", "example.com/c")] = g.value(s.AdditionalProperties.Schema, depth-1)
		}
		return m
	}
	if depth <= 0 {
		return m
	}
	percent := min(60, 500/(1+len(s.Properties)))
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if g.one(percent) || slices.Contains(s.Required, name) && g.one(70) {
			of := s.Properties[name]
			m[name] = g.value(&of, depth-1)
		}
	}
	if g.IntN(600) == 0 {
		m["unknown"] = "x"
	}
	return m
}

func keysOf(s *spec.Schema) []string {
	var keys []string
	list, _ := s.Extensions["x-kubernetes-list-map-keys"].([]any)
	for _, key := range list {
		keys = append(keys, key.(string))
	}
	return keys
}

func (g generator) list(s *spec.Schema, depth int) any {
	out := []any{}
	n := g.IntN(4)
	if g.one(3) {
		n = 12
	}
	keys := keysOf(s)
	seen := map[string]bool{}
	for i := range n {
		v := g.value(s.Items.Schema, depth-1)
		if m, ok := v.(map[string]any); ok && len(keys) > 0 {
			of, _ := g.resolve(s.Items.Schema)
			id := ""
			for _, key := range keys {
				property := of.Properties[key]
				if _, ok := m[key]; !ok && (property.Default == nil || g.one(50)) && !g.one(1) {
					m[key] = g.value(&property, 1)
				}
				if n > 9 && property.Type.Contains("string") {
					m[key] = fmt.Sprint("key", i+g.IntN(2))
				}
				id += fmt.Sprint(m[key], "|")
			}
			if seen[id] && !g.one(2) {
				continue
			}
			seen[id] = true
		} else if s.Extensions["x-kubernetes-list-type"] == "set" {
			if seen[fmt.Sprint(v)] && !g.one(2) {
				continue
			}
			seen[fmt.Sprint(v)] = true
		}
		out = append(out, v)
	}
	return out
}

// whole is a random object of a kind.
func (g generator) whole(s *spec.Schema) map[string]any {
	obj, _ := g.fields(s, 9).(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		of := s.Properties[name]
		switch name {
		case "apiVersion", "kind", "metadata":
		default:
			if g.one(80) {
				obj[name] = g.value(&of, 8)
			}
		}
	}
	obj["metadata"] = g.metadata()
	return obj
}

func (g generator) metadata() map[string]any {
	m := map[string]any{"name": "n"}
	for _, key := range []string{"labels", "annotations"} {
		if g.one(60) {
			texts := map[string]any{}
			for range 1 + g.IntN(3) {
				texts[pick(g, "app", "tier", "x.io/y", "z")] = pick[any](g, "1", "2", "")
			}
			m[key] = texts
		}
	}
	if g.one(40) {
		m["finalizers"] = []any{"y.io/f", "x.io/f", "z.io/f"}[g.IntN(3):]
	}
	if g.one(40) {
		m["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "name": pick(g, "p", "q"), "uid": pick(g, "1", "2", "3")}}
	}
	return m
}

// changed is a copy of a value with random changes; other is a value of the same form to
// take parts of.
func (g generator) changed(v, other any, percent int) any {
	if g.one(percent) {
		return runtime.DeepCopyJSONValue(other)
	}
	switch v := v.(type) {
	case map[string]any:
		from, _ := other.(map[string]any)
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if isKey(name) || !g.one(percent/2) {
				with, ok := from[name]
				if !ok {
					with = v[name]
				}
				out[name] = g.changed(v[name], with, percent)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(from)) {
			if _, ok := v[name]; !ok && g.one(percent) {
				out[name] = runtime.DeepCopyJSONValue(from[name])
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			if g.one(percent / 2) {
				continue
			}
			m, ok := item.(map[string]any)
			if !ok {
				out = append(out, item)
				continue
			}
			with := any(m)
			if from, ok := other.([]any); ok && len(from) > 0 && g.one(50) {
				with = from[g.IntN(len(from))]
			}
			next, _ := g.changed(m, with, percent/2).(map[string]any)
			if next == nil {
				next = runtime.DeepCopyJSON(m)
			}
			for name := range next {
				if isKey(name) {
					delete(next, name)
				}
			}
			for name, value := range m {
				if isKey(name) {
					next[name] = value
				}
			}
			out = append(out, next)
		}
		if g.one(percent) {
			g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	}
	return runtime.DeepCopyJSONValue(v)
}

// isKey tells of a field that it may tell the items of a list apart.
func isKey(name string) bool {
	switch name {
	case "apiVersion", "kind", "metadata", "name", "type", "uid", "key", "ip", "port", "containerPort", "protocol", "mountPath", "devicePath", "topologyKey",
		"whenUnsatisfiable", "request", "resourceID":
		return true
	}
	return false
}
