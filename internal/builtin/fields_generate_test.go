package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/testing/fieldstest"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// generator makes random objects of the schemas of kinds.
type generator struct {
	fieldstest.Generator
	models map[string]*spec.Schema
}

// allModels are the schemas of all types, by name.
func allModels() map[string]*spec.Schema {
	models := map[string]*spec.Schema{}
	for name, d := range definitionsV3() {
		models[name] = &d.Schema
	}
	return models
}

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
		return seedtest.Pick(g, "1", "100m", "1000m", "1Gi", "1024Mi", "0", "1e3", "-0", "9223372036854775808", seedtest.Number(g.Rand))
	case "IntOrString":
		return seedtest.Pick(g, "50%", "http", "1", seedtest.Number(g.Rand))
	case "Time":
		return seedtest.Pick[any](g, "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z", nil)
	case "MicroTime":
		return seedtest.Pick[any](g, "2026-01-02T03:04:05.000001Z", "2026-01-02T03:04:06.000000Z", nil)
	case "RawExtension", "JSON":
		return map[string]any{"a": seedtest.Pick(g, "x", "y")}
	case "JSONSchemaPropsOrBool":
		return g.One(50)
	case "JSONSchemaPropsOrArray", "JSONSchemaPropsOrStringArray":
		return nil
	}
	if g.One(1) {
		return nil
	}
	switch {
	case s == nil || len(s.Type) == 0:
		return nil
	case s.Type.Contains("string"):
		switch s.Format {
		case "byte":
			return seedtest.Pick[any](g, "YQ==", "")
		case "date-time":
			return "2026-01-02T03:04:05Z"
		}
		return seedtest.Pick[any](g, "a", "b", "c", "", `o"dd <ü>`)
	case s.Type.Contains("integer"):
		if !g.One(3) {
			return int64(g.IntN(4)) // few objects can be decoded with the others
		}
		return seedtest.Number(g.Rand)
	case s.Type.Contains("number"):
		return seedtest.Number(g.Rand)
	case s.Type.Contains("boolean"):
		return g.One(50)
	case s.Type.Contains("array"):
		return g.list(s, depth)
	}
	return g.fields(s, depth)
}

func (g generator) fields(s *spec.Schema, depth int) any {
	m := map[string]any{}
	if len(s.Properties) == 0 && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		for range g.IntN(3) {
			m[seedtest.Pick(g, "a", "b", "example.com/c")] = g.value(s.AdditionalProperties.Schema, depth-1)
		}
		return m
	}
	if depth <= 0 {
		return m
	}
	percent := min(60, 500/(1+len(s.Properties)))
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if g.One(percent) || slices.Contains(s.Required, name) && g.One(70) {
			property := s.Properties[name]
			m[name] = g.value(&property, depth-1)
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
	if g.One(3) {
		n = 12
	}
	keys := keysOf(s)
	repeat := 2 // percent of the items that repeat
	if g.One(10) {
		repeat = 100
	}
	seen := map[string]bool{}
	for i := range n {
		v := g.value(s.Items.Schema, depth-1)
		if m, ok := v.(map[string]any); ok && len(keys) > 0 {
			items, _ := g.resolve(s.Items.Schema)
			id := ""
			for _, key := range keys {
				property := items.Properties[key]
				if _, ok := m[key]; !ok && (property.Default == nil || g.One(50)) && !g.One(1) {
					m[key] = g.value(&property, 1)
				}
				if n > 9 && property.Type.Contains("string") {
					m[key] = fmt.Sprint("key", i+g.IntN(2))
				}
				id += fmt.Sprint(m[key], "|")
			}
			if seen[id] && !g.One(repeat) {
				continue
			}
			seen[id] = true
		} else if s.Extensions["x-kubernetes-list-type"] == "set" {
			if seen[fmt.Sprint(v)] && !g.One(repeat) {
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
		property := s.Properties[name]
		switch name {
		case "apiVersion", "kind", "metadata":
		default:
			if g.One(80) {
				obj[name] = g.value(&property, 8)
			}
		}
	}
	obj["metadata"] = g.Metadata()
	return obj
}

// isKey reports whether a field may be a key of the items of a list.
func isKey(name string) bool {
	switch name {
	case "apiVersion", "kind", "metadata", "name", "type", "uid", "key", "ip", "port", "containerPort", "protocol", "mountPath", "devicePath", "topologyKey",
		"whenUnsatisfiable", "request", "resourceID":
		return true
	}
	return false
}
