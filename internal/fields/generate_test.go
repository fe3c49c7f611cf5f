package fields

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/testing/fieldstest"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// generator makes random schemas and objects of them.
type generator struct{ fieldstest.Generator }

var names = []string{"a", "b", "c", "d", "e"}

// schema is a random schema, as the JSON of a definition.
func (g generator) schema(depth int) map[string]any {
	n := 13
	if depth <= 0 {
		n = 5
	}
	var s map[string]any
	switch g.IntN(n) {
	case 0:
		s = map[string]any{"type": "string"}
		if g.One(20) {
			s["format"] = "date-time"
		}
	case 1:
		s = map[string]any{"type": seedtest.Pick(g, "integer", "number")}
	case 2:
		s = map[string]any{"type": "boolean"}
	case 3:
		s = map[string]any{"x-kubernetes-int-or-string": true}
	case 4:
		s = map[string]any{"type": "string"}
	case 5, 6:
		s = g.object(depth)
	case 7:
		s = map[string]any{"type": "object", "additionalProperties": g.schema(depth - 1)}
		if g.One(10) {
			s["additionalProperties"] = g.One(50)
		}
		if g.One(20) {
			s["x-kubernetes-map-type"] = seedtest.Pick(g, "atomic", "granular")
		}
	case 8:
		s = map[string]any{"x-kubernetes-preserve-unknown-fields": true}
		if g.One(60) {
			s["type"] = "object"
		}
	case 9:
		s = map[string]any{"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}
		if g.One(50) {
			delete(s, "x-kubernetes-preserve-unknown-fields")
			s["properties"] = map[string]any{"spec": g.schema(depth - 1), "metadata": map[string]any{"type": "object"}}
		}
	case 10:
		s = map[string]any{"type": "array", "items": g.schema(depth - 1)}
		if g.One(20) {
			s["x-kubernetes-list-type"] = "atomic"
		}
	case 11:
		item := seedtest.Pick(g, map[string]any{"type": "string"}, map[string]any{"type": "integer"}, map[string]any{"type": "number"},
			map[string]any{"x-kubernetes-int-or-string": true})
		s = map[string]any{"type": "array", "items": item, "x-kubernetes-list-type": "set"}
	case 12:
		s = g.mapList(depth)
	}
	if g.One(15) {
		s["nullable"] = true
	}
	return s
}

func (g generator) object(depth int) map[string]any {
	properties := map[string]any{}
	for _, name := range names {
		if g.One(50) {
			below := g.schema(depth - 1)
			if v, ok := g.plainDefault(below); ok && g.One(20) {
				below["default"] = v
			}
			properties[name] = below
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if len(properties) == 0 && g.One(50) {
		delete(s, "properties") // all fields are unknown
	}
	if g.One(15) {
		s["x-kubernetes-map-type"] = "atomic"
	}
	if g.One(15) {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	return s
}

func (g generator) plainDefault(schema map[string]any) (any, bool) {
	if schema["format"] != nil {
		return nil, false
	}
	switch schema["type"] {
	case "string":
		return seedtest.Pick[any](g, "dflt", ""), true
	case "integer":
		return int64(7), true
	case "boolean":
		return true, true
	}
	return nil, false
}

// mapList is a list whose items have up to three keys, some with defaults.
func (g generator) mapList(depth int) map[string]any {
	item := g.object(depth - 1)
	delete(item, "nullable")
	if g.One(80) {
		delete(item, "x-kubernetes-map-type")
	}
	properties, _ := item["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		item["properties"] = properties
	}
	var keys, required []any
	for _, name := range []string{"k", "name", "j"}[:1+g.IntN(3)] {
		schema := map[string]any{"type": seedtest.Pick(g, "string", "string", "integer", "boolean")}
		if v, ok := g.plainDefault(schema); ok && g.One(30) {
			schema["default"] = v
		} else {
			required = append(required, name)
		}
		properties[name] = schema
		keys = append(keys, name)
	}
	if len(required) > 0 {
		item["required"] = required
	}
	return map[string]any{"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
}

// root is the schema of a whole object.
func (g generator) root() map[string]any {
	properties := map[string]any{"spec": g.object(3), "status": g.object(2)}
	if g.One(30) {
		properties["data"] = g.schema(2)
	}
	root := map[string]any{"type": "object", "properties": properties}
	if g.One(10) {
		root["x-kubernetes-preserve-unknown-fields"] = true
	}
	return root
}

// variant is a schema of the same fields, of which some are gone or are owned
// otherwise.
func (g generator) variant(s map[string]any) map[string]any {
	s = runtime.DeepCopyJSON(s)
	g.vary(s, true)
	return s
}

func (g generator) vary(s map[string]any, root bool) {
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if len(name) == 1 && len(properties) > 1 && name != "k" && name != "j" && g.One(8) {
				delete(properties, name)
				continue
			}
			g.vary(properties[name].(map[string]any), false)
		}
	}
	if below, ok := s["additionalProperties"].(map[string]any); ok {
		g.vary(below, false)
	}
	if below, ok := s["items"].(map[string]any); ok {
		g.vary(below, false)
	}
	if root || !g.One(20) {
		return
	}
	switch s["type"] {
	case "object":
		if s["x-kubernetes-map-type"] == "atomic" {
			delete(s, "x-kubernetes-map-type")
		} else {
			s["x-kubernetes-map-type"] = "atomic"
		}
	case "array":
		if listType := s["x-kubernetes-list-type"]; listType == "set" || listType == "map" {
			delete(s, "x-kubernetes-list-type")
			delete(s, "x-kubernetes-list-map-keys")
		}
	}
}

// value is a random value of a schema.
func (g generator) value(s map[string]any, depth int) any {
	if s["nullable"] == true && g.One(15) || g.One(1) {
		return nil
	}
	if g.IntN(400) == 0 {
		return g.free(2) // of another type, maybe
	}
	if s["x-kubernetes-int-or-string"] == true {
		return seedtest.Pick(g, seedtest.Number(g.Rand), "1", "x", "50%")
	}
	switch s["type"] {
	case "string":
		return seedtest.Pick[any](g, "x", "y", "z", "", `o"dd <ü>`)
	case "integer", "number":
		return seedtest.Number(g.Rand)
	case "boolean":
		return g.One(50)
	case "array":
		return g.list(s, depth)
	case "object":
		return g.fields(s, depth)
	}
	return g.free(depth)
}

func (g generator) list(s map[string]any, depth int) any {
	items := s["items"].(map[string]any)
	list := []any{}
	n := g.IntN(4)
	if g.One(3) {
		n = 10 + g.IntN(10)
	}
	for i := range n {
		v := g.value(items, depth-1)
		if m, ok := v.(map[string]any); ok && n > 9 {
			if keys, ok := s["x-kubernetes-list-map-keys"].([]any); ok {
				properties := items["properties"].(map[string]any)
				if name := keys[0].(string); properties[name].(map[string]any)["type"] == "string" {
					m[name] = fmt.Sprint("key", i+g.IntN(2))
				}
			}
		}
		list = append(list, v)
	}
	if kind := s["x-kubernetes-list-type"]; (kind == "set" || kind == "map") && !g.One(5) {
		list = distinct(s, list)
	}
	return list
}

// distinct leaves out items that others have the keys of.
func distinct(s map[string]any, list []any) []any {
	keys, _ := s["x-kubernetes-list-map-keys"].([]any)
	seen := map[string]bool{}
	var out []any
	for _, v := range list {
		id := fmt.Sprint(v)
		if m, ok := v.(map[string]any); ok && keys != nil {
			id = ""
			for _, name := range keys {
				value, ok := m[name.(string)]
				if !ok {
					value = s["items"].(map[string]any)["properties"].(map[string]any)[name.(string)].(map[string]any)["default"]
				}
				id += fmt.Sprint(value, "|")
			}
		}
		if !seen[id] {
			seen[id] = true
			out = append(out, v)
		}
	}
	if out == nil {
		out = []any{}
	}
	return out
}

func (g generator) fields(s map[string]any, depth int) any {
	m := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	keys, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if g.One(55) || slices.Contains(keys, any(name)) && !g.One(2) {
			m[name] = g.value(properties[name].(map[string]any), depth-1)
		}
	}
	if s["additionalProperties"] == true || s["additionalProperties"] == false && g.One(10) {
		m[seedtest.Pick(g, "p", "q")] = g.free(depth)
	}
	if below, ok := s["additionalProperties"].(map[string]any); ok {
		for range g.IntN(4) {
			m[seedtest.Pick(g, "p", "q", "r", `o"dd<ü`)] = g.value(below, depth-1)
		}
	}
	if s["x-kubernetes-embedded-resource"] == true {
		m["apiVersion"], m["kind"] = seedtest.Pick(g, "v1", "v2"), "Pod"
		if g.One(70) {
			m["metadata"] = g.Metadata()
		}
	}
	if s["x-kubernetes-preserve-unknown-fields"] == true {
		for range g.IntN(3) {
			m[seedtest.Pick(g, "u", "v", "w")] = g.free(depth)
		}
	}
	if g.IntN(500) == 0 {
		m["unknown"] = "x"
	}
	return m
}

// free is a value without a schema.
func (g generator) free(depth int) any {
	n := 8
	if depth <= 0 {
		n = 5
	}
	switch g.IntN(n) {
	case 0, 1:
		return seedtest.Pick[any](g, "x", "y")
	case 2:
		return seedtest.Number(g.Rand)
	case 3:
		return g.One(50)
	case 4:
		return seedtest.Pick[any](g, nil, 1.5, "x")
	case 5:
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.free(depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range g.IntN(4) {
		m[seedtest.Pick(g, "u", "v", "w")] = g.free(depth - 1)
	}
	return m
}

// whole is a random object of a root schema; nil: there is none.
func (g generator) whole(root map[string]any, apiVersion string) map[string]any {
	obj := map[string]any{}
	if root == nil {
		obj["spec"] = g.free(3)
	} else if m, ok := g.fields(root, 4).(map[string]any); ok {
		obj = m
	}
	obj["apiVersion"], obj["kind"], obj["metadata"] = apiVersion, "Widget", g.Metadata()
	return obj
}

// isKey marks a field that may be a key of the items of a list.
func isKey(name string) bool {
	switch name {
	case "apiVersion", "kind", "metadata", "k", "name", "j", "uid":
		return true
	}
	return false
}
