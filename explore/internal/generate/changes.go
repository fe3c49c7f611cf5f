package generate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Change is a change of one property, as steps, and the steps that undo it.
type Change struct {
	Steps, Undo []Step
}

// maxDepth is how deep fields below spec are that are changed. Templates of pods are deeper than this.
const maxDepth = 8

// Changes returns the changes of single properties of an object with a schema, except for its status. Each is
// a set or a remove; a union is switched by two steps.
func Changes(schema *apiextensionsv1.JSONSchemaProps, object map[string]any) []Change {
	g := &generator{object: object}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		switch name {
		case "apiVersion", "kind", "metadata", "status":
			continue
		}
		property := schema.Properties[name]
		value, set := object[name]
		g.field("/"+escape.Replace(name), name, &property, value, set, slices.Contains(schema.Required, name), 1)
	}
	// Labels and annotations belong to users, and an operator may copy them.
	for _, path := range []string{"/metadata/labels/explore.example.com~1label", "/metadata/annotations/explore.example.com~1annotation"} {
		g.set(path, "explored")
	}
	return g.changes
}

type generator struct {
	object  map[string]any
	changes []Change
}

// set adds a change to a value, unless it is that of the object.
func (g *generator) set(path string, value any) {
	step := Step{Verb: Set, Path: path, Value: value}
	undo := Step{Verb: Remove, Path: path}
	if former, set := Get(g.object, path); set {
		if equality.Semantic.DeepEqual(former, value) {
			return
		}
		undo = Step{Verb: Set, Path: path, Value: former}
	}
	for _, c := range g.changes {
		if c.Steps[0].String() == step.String() && len(c.Steps) == 1 {
			return
		}
	}
	g.changes = append(g.changes, Change{[]Step{step}, []Step{undo}})
}

// remove adds a change that removes a field or the item of a list.
func (g *generator) remove(path string) {
	former, _ := Get(g.object, path)
	g.changes = append(g.changes, Change{[]Step{{Verb: Remove, Path: path}}, []Step{{Verb: Set, Path: path, Value: former}}})
}

// field adds the changes of a property, which the object may or may not have.
func (g *generator) field(path, name string, s *apiextensionsv1.JSONSchemaProps, value any, set, required bool, depth int) {
	if strings.ContainsAny(path, " ;&") {
		return // it could not be written as text
	}
	if name == "nodeName" {
		return // Pods on a Node that does not exist are deleted and made anew for ever
	}
	if !set {
		for _, v := range values(name, s, nil) {
			g.set(path, v)
		}
		return
	}
	if !required {
		g.remove(path)
	}
	switch v := value.(type) {
	case map[string]any:
		if depth < maxDepth {
			g.below(path, s, v, depth)
		}
	case []any:
		g.list(path, name, s, v, depth)
	default:
		for _, v := range values(name, s, value) {
			g.set(path, v)
		}
	}
}

// below adds the changes of the fields of an object.
func (g *generator) below(path string, s *apiextensionsv1.JSONSchemaProps, value map[string]any, depth int) {
	_, isMetadata := s.Properties["managedFields"]
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		former, set := value[name]
		if isMetadata && name != "labels" && name != "annotations" && !set {
			continue // of a template: most of it is the server's
		}
		g.field(path+"/"+escape.Replace(name), name, &property, former, set, slices.Contains(s.Required, name), depth+1)
	}
	g.unions(path, s, value)
	additional := s.AdditionalProperties
	if additional == nil || additional.Schema == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(value)) {
		g.field(path+"/"+escape.Replace(key), key, additional.Schema, value[key], true, false, depth+1)
	}
	if added := values("key", additional.Schema, nil); len(added) > 0 {
		g.set(path+"/explored", added[0])
	}
}

// unions adds changes that replace a member of a union by another one. A union is an object with several optional fields that are
// objects, of which some are set: most definitions express it by CEL rules, and the server rejects a change
// if both may be set.
func (g *generator) unions(path string, s *apiextensionsv1.JSONSchemaProps, value map[string]any) {
	var set, unset []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, name) || s.Properties[name].Type != "object" {
			continue
		}
		if _, exists := value[name]; exists {
			set = append(set, name)
		} else {
			unset = append(unset, name)
		}
	}
	if len(set) != 1 {
		return
	}
	for _, name := range unset {
		property := s.Properties[name]
		added := values(name, &property, nil)
		if len(added) == 0 {
			continue
		}
		from, to := path+"/"+escape.Replace(set[0]), path+"/"+escape.Replace(name)
		g.changes = append(g.changes, Change{
			[]Step{{Verb: Remove, Path: from}, {Verb: Set, Path: to, Value: added[0], Rush: true}},
			[]Step{{Verb: Remove, Path: to}, {Verb: Set, Path: from, Value: value[set[0]], Rush: true}},
		})
	}
}

// list adds the changes of a list: its items, one more, one less, none, and another order.
func (g *generator) list(path, name string, s *apiextensionsv1.JSONSchemaProps, items []any, depth int) {
	if s.Items == nil || s.Items.Schema == nil {
		return
	}
	item := s.Items.Schema
	for i, v := range items {
		below := fmt.Sprintf("%s/%d", path, i)
		if fields, ok := v.(map[string]any); ok && depth < maxDepth {
			g.below(below, item, fields, depth+1)
		} else {
			for _, v := range values(name, item, v) {
				g.set(below, v)
			}
		}
	}
	for i := range items {
		g.set(path, slices.Delete(slices.Clone(items), i, i+1))
	}
	if added, ok := another(name, s, items); ok {
		g.set(path, append(slices.Clone(items), added))
	}
	if len(items) > 1 {
		reversed := slices.Clone(items)
		slices.Reverse(reversed)
		g.set(path, reversed)
		g.set(path, []any{})
	}
}

// another returns one more item for a list: one like the last, with other keys.
func another(name string, s *apiextensionsv1.JSONSchemaProps, items []any) (any, bool) {
	item := s.Items.Schema
	var like any
	if len(items) > 0 {
		like = items[len(items)-1]
	} else if found := values(name, item, nil); len(found) > 0 {
		return found[0], true
	}
	fields, ok := like.(map[string]any)
	if !ok {
		if found := values(name, item, like); len(found) > 0 {
			return found[0], true
		}
		return nil, false
	}
	fields = maps.Clone(fields)
	keys := s.XListMapKeys
	if len(keys) == 0 {
		keys = []string{"name"}
	}
	for _, key := range keys {
		property, ok := item.Properties[key]
		if !ok {
			continue
		}
		if found := values(key, &property, fields[key]); len(found) > 0 {
			fields[key] = found[0]
		}
	}
	return fields, true
}
