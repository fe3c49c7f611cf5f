package fields

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// generator makes random schemas, objects of them and changes of objects.
type generator struct{ *rand.Rand }

func (g generator) one(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

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
		if g.one(20) {
			s["format"] = "date-time"
		}
	case 1:
		s = map[string]any{"type": pick(g, "integer", "number")}
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
		if g.one(20) {
			s["x-kubernetes-map-type"] = pick(g, "atomic", "granular")
		}
	case 8:
		s = map[string]any{"x-kubernetes-preserve-unknown-fields": true}
		if g.one(60) {
			s["type"] = "object"
		}
	case 9:
		s = map[string]any{"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}
		if g.one(50) {
			delete(s, "x-kubernetes-preserve-unknown-fields")
			s["properties"] = map[string]any{"spec": g.schema(depth - 1), "metadata": map[string]any{"type": "object"}}
		}
	case 10:
		s = map[string]any{"type": "array", "items": g.schema(depth - 1)}
		if g.one(20) {
			s["x-kubernetes-list-type"] = "atomic"
		}
	case 11:
		item := pick(g, map[string]any{"type": "string"}, map[string]any{"type": "integer"}, map[string]any{"type": "number"},
			map[string]any{"x-kubernetes-int-or-string": true})
		s = map[string]any{"type": "array", "items": item, "x-kubernetes-list-type": "set"}
	case 12:
		s = g.mapList(depth)
	}
	if g.one(15) {
		s["nullable"] = true
	}
	return s
}

func (g generator) object(depth int) map[string]any {
	properties := map[string]any{}
	for _, name := range names {
		if g.one(50) {
			of := g.schema(depth - 1)
			if v, ok := g.plainDefault(of); ok && g.one(20) {
				of["default"] = v
			}
			properties[name] = of
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if len(properties) == 0 {
		properties["a"] = map[string]any{"type": "string"}
	}
	if g.one(15) {
		s["x-kubernetes-map-type"] = "atomic"
	}
	if g.one(15) {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	return s
}

func (g generator) plainDefault(of map[string]any) (any, bool) {
	if of["format"] != nil {
		return nil, false
	}
	switch of["type"] {
	case "string":
		return pick[any](g, "dflt", ""), true
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
	if g.one(80) {
		delete(item, "x-kubernetes-map-type")
	}
	properties := item["properties"].(map[string]any)
	var keys, required []any
	for _, name := range []string{"k", "name", "j"}[:1+g.IntN(3)] {
		of := map[string]any{"type": pick(g, "string", "string", "integer", "boolean")}
		if v, ok := g.plainDefault(of); ok && g.one(30) {
			of["default"] = v
		} else {
			required = append(required, name)
		}
		properties[name] = of
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
	if g.one(30) {
		properties["data"] = g.schema(2)
	}
	root := map[string]any{"type": "object", "properties": properties}
	if g.one(10) {
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
			if len(name) == 1 && len(properties) > 1 && name != "k" && name != "j" && g.one(8) {
				delete(properties, name)
				continue
			}
			g.vary(properties[name].(map[string]any), false)
		}
	}
	if of, ok := s["additionalProperties"].(map[string]any); ok {
		g.vary(of, false)
	}
	if of, ok := s["items"].(map[string]any); ok {
		g.vary(of, false)
	}
	if root || !g.one(20) {
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
		if was := s["x-kubernetes-list-type"]; was == "set" || was == "map" {
			delete(s, "x-kubernetes-list-type")
			delete(s, "x-kubernetes-list-map-keys")
		}
	}
}

// value is a random value of a schema.
func (g generator) value(s map[string]any, depth int) any {
	if s["nullable"] == true && g.one(15) || g.one(1) {
		return nil
	}
	if g.IntN(400) == 0 {
		return g.free(2) // of another type, maybe
	}
	if s["x-kubernetes-int-or-string"] == true {
		return pick[any](g, int64(1), int64(2), "x", "50%")
	}
	switch s["type"] {
	case "string":
		return pick[any](g, "x", "y", "z", "", `o"dd <ü>`)
	case "integer":
		return pick[any](g, int64(1), int64(2), int64(30000000))
	case "number":
		return pick[any](g, int64(1), 1.5, 1.0, int64(2))
	case "boolean":
		return g.one(50)
	case "array":
		return g.list(s, depth)
	case "object":
		return g.fields(s, depth)
	}
	return g.free(depth)
}

func (g generator) list(s map[string]any, depth int) any {
	of := s["items"].(map[string]any)
	list := []any{}
	n := g.IntN(4)
	if g.one(3) {
		n = 10 + g.IntN(10)
	}
	for i := range n {
		v := g.value(of, depth-1)
		if m, ok := v.(map[string]any); ok && n > 9 {
			if keys, ok := s["x-kubernetes-list-map-keys"].([]any); ok {
				properties := of["properties"].(map[string]any)
				if name := keys[0].(string); properties[name].(map[string]any)["type"] == "string" {
					m[name] = fmt.Sprint("key", i+g.IntN(2))
				}
			}
		}
		list = append(list, v)
	}
	if kind := s["x-kubernetes-list-type"]; (kind == "set" || kind == "map") && !g.one(2) {
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
		if g.one(55) || slices.Contains(keys, any(name)) && !g.one(2) {
			m[name] = g.value(properties[name].(map[string]any), depth-1)
		}
	}
	if of, ok := s["additionalProperties"].(map[string]any); ok {
		for range g.IntN(4) {
			m[pick(g, "p", "q", "r", `o"dd<ü`)] = g.value(of, depth-1)
		}
	}
	if s["x-kubernetes-embedded-resource"] == true {
		m["apiVersion"], m["kind"] = pick(g, "v1", "v2"), "Pod"
		if g.one(70) {
			m["metadata"] = g.metadata()
		}
	}
	if s["x-kubernetes-preserve-unknown-fields"] == true {
		for range g.IntN(3) {
			m[pick(g, "u", "v", "w")] = g.free(depth)
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
		return pick[any](g, "x", "y")
	case 2:
		return int64(g.IntN(3))
	case 3:
		return g.one(50)
	case 4:
		return pick[any](g, nil, 1.5, "x")
	case 5:
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.free(depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range g.IntN(4) {
		m[pick(g, "u", "v", "w")] = g.free(depth - 1)
	}
	return m
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
		m["finalizers"] = []any{pick(g, "x.io/f", "y.io/f")}
		if g.one(30) {
			m["finalizers"] = []any{"y.io/f", "x.io/f", "z.io/f"}[g.IntN(2):]
		}
	}
	if g.one(40) {
		owner := map[string]any{"apiVersion": "v1", "kind": "Pod", "name": pick(g, "p", "q"), "uid": pick(g, "1", "2", "3")}
		if g.one(50) {
			owner["controller"] = true
		}
		m["ownerReferences"] = []any{owner}
	}
	if g.one(10) {
		m["generateName"] = "n"
	}
	if g.one(5) {
		m["creationTimestamp"] = nil
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
	obj["apiVersion"], obj["kind"], obj["metadata"] = apiVersion, "Widget", g.metadata()
	return obj
}

// changed is a copy of a value with random changes; others are values of the same
// form to take parts of.
func (g generator) changed(v, other any, percent int) any {
	if g.one(percent) {
		return runtime.DeepCopyJSONValue(other)
	}
	switch v := v.(type) {
	case map[string]any:
		from, _ := other.(map[string]any)
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			child := v[name]
			switch {
			case name != "apiVersion" && name != "kind" && name != "metadata" && name != "k" && name != "name" && name != "j" && name != "uid" && g.one(percent/2):
			default:
				with, ok := from[name]
				if !ok {
					with = child
				}
				out[name] = g.changed(child, with, percent)
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
			if !g.one(percent / 2) {
				with := item
				if from, ok := other.([]any); ok && len(from) > 0 {
					with = from[g.IntN(len(from))]
				}
				if _, ok := item.(map[string]any); !ok || g.one(50) {
					with = item
				}
				out = append(out, g.mixed(item, with, percent))
			}
		}
		if g.one(percent) {
			g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	}
	return runtime.DeepCopyJSONValue(v)
}

// mixed is an item with values of another, under its own keys.
func (g generator) mixed(item, with any, percent int) any {
	m, ok := item.(map[string]any)
	if !ok {
		return item
	}
	out, _ := g.changed(m, with, percent).(map[string]any)
	if out == nil {
		return runtime.DeepCopyJSONValue(item)
	}
	for _, name := range []string{"k", "name", "j", "uid"} {
		if v, ok := m[name]; ok {
			out[name] = v
		} else {
			delete(out, name)
		}
	}
	return out
}
