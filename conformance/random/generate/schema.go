package generate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Schema describes a value, as an OpenAPI document does.
type Schema struct {
	Type       string             `json:"type"`
	Format     string             `json:"format"`
	Properties map[string]*Schema `json:"properties"`
	Items      *Schema            `json:"items"`
	Enum       []any              `json:"enum"`
	Values     *Schema            `json:"-"` // of a map
	MergeKey   string             `json:"x-kubernetes-patch-merge-key"`
	Keys       []string           `json:"x-kubernetes-list-map-keys"`

	Additional json.RawMessage                         `json:"additionalProperties"`
	Ref        string                                  `json:"$ref"`
	Parts      []*Schema                               `json:"allOf"`
	OneOf      []*Schema                               `json:"oneOf"`
	Kinds      []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
}

// document is an OpenAPI v3 document of a group and version.
type document struct {
	Components struct {
		Schemas map[string]*Schema `json:"schemas"`
	} `json:"components"`
}

// resolve makes all references of a document direct, so that a schema has its fields whatever way it was written.
func (d *document) resolve() {
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		d.complete(d.Components.Schemas[name])
	}
}

func (d *document) complete(s *Schema) {
	if len(s.Additional) > 0 && s.Values == nil && s.Additional[0] == '{' {
		s.Values = &Schema{}
		if json.Unmarshal(s.Additional, s.Values) != nil {
			s.Values = nil
		}
	}
	s.Items, s.Values = d.direct(s.Items), d.direct(s.Values)
	for name, property := range s.Properties {
		s.Properties[name] = d.direct(property)
	}
}

// direct returns the schema that s refers to, or s itself.
func (d *document) direct(s *Schema) *Schema {
	if s == nil {
		return nil
	}
	ref := s.Ref
	if ref == "" && len(s.Parts) == 1 {
		ref = s.Parts[0].Ref
	}
	if found := d.Components.Schemas[ref[strings.LastIndex(ref, "/")+1:]]; found != nil {
		return found
	}
	d.complete(s)
	return s
}

// kind returns the schema of a kind; nil: there is none.
func (d *document) kind(group, version, kind string) *Schema {
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		for _, k := range s.Kinds {
			if k.Group == group && k.Version == version && k.Kind == kind && len(s.Kinds) == 1 {
				return s
			}
		}
	}
	return nil
}

// fields returns the names of the properties in their order.
func (s *Schema) fields() []string { return slices.Sorted(maps.Keys(s.Properties)) }

// plausible returns a value that the schema allows, or nearly so.
func (r Source) plausible(s *Schema, depth int) any {
	switch {
	case s == nil:
		return r.odd(depth)
	case len(s.Enum) > 0:
		return pick(r, s.Enum...)
	case s.Type == "array":
		list := []any{}
		for range r.IntN(3) {
			list = append(list, r.plausible(s.Items, depth-1))
		}
		return list
	case len(s.Properties) > 0:
		return r.someFields(s, depth)
	case s.Type == "object":
		entries := map[string]any{}
		for range r.IntN(3) {
			entries[pick(r, "a", "b", "example.com/c", "cpu", "memory")] = r.plausible(s.Values, depth-1)
		}
		return entries
	case s.Type == "integer":
		return json.Number(pick(r, "0", "1", "2", "5", "80", "443", "3600"))
	case s.Type == "number":
		return json.Number(pick(r, "0", "1", "1.5"))
	case s.Type == "boolean":
		return r.chance(50)
	case s.Format == "date-time":
		return pick(r, "2001-01-01T00:00:00Z", "2030-01-01T10:00:00Z")
	case s.Format == "byte":
		return pick(r, "YQ==", "MTIz", "")
	case s.Format == "int-or-string", len(s.OneOf) > 0: // quantities, too
		return pick[any](r, json.Number("1"), "1", "50%", "100m", "http")
	}
	return pick(r, "a", "b", "a-name", "Name", "1", "http", "example.com/a", "10.1.2.3", "")
}

// someFields returns an object with a few of its properties, and with those that a list knows it by.
func (r Source) someFields(s *Schema, depth int) map[string]any {
	object := map[string]any{}
	names := s.fields()
	if depth > 0 {
		for range 1 + r.IntN(3) {
			name := pick(r, names...)
			object[name] = r.value(s.Properties[name], depth-1)
		}
	}
	for _, name := range []string{"name", "key", "type", "containerPort", "port", "ip"} {
		if p := s.Properties[name]; p != nil && r.chance(80) {
			object[name] = r.plausible(p, 0)
		}
	}
	return object
}

// value returns a plausible value, or an odd one.
func (r Source) value(s *Schema, depth int) any {
	if r.chance(30) {
		return r.odd(depth)
	}
	return r.plausible(s, depth)
}
