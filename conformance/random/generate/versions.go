package generate

import (
	"maps"
	"slices"

	"github.com/fakecluster/fakecluster/conformance/random/play"
)

// renamedField returns a field of the schema of whole objects that may have another name in another version, or the empty text.
func (r Source) renamedField(schema map[string]any) string {
	properties, _ := schema["properties"].(map[string]any)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if len(name) == 1 {
			names = append(names, name)
		}
	}
	// Parts of a schema that are no properties know the field by its first name.
	for keyword := range schema {
		if keyword != "type" && keyword != "properties" {
			return ""
		}
	}
	if len(names) == 0 {
		return ""
	}
	return pick(r, names...)
}

// withRenamed returns a copy of the schema of whole objects in which a field has its other name.
func withRenamed(schema map[string]any, field string) map[string]any {
	properties := maps.Clone(schema["properties"].(map[string]any))
	properties[play.Renamed] = properties[field]
	delete(properties, field)
	schema = maps.Clone(schema)
	schema["properties"] = properties
	return schema
}

// selectableFields returns the paths of a few fields that lists select by. All versions have them.
func (r Source) selectableFields(d *definitionOf, schema map[string]any) []string {
	if !r.chance(30) {
		return nil
	}
	var paths []string
	properties, _ := schema["properties"].(map[string]any)
	for _, parent := range []string{"", "spec", "status"} {
		fields, prefix := properties, ""
		if parent != "" {
			part, _ := properties[parent].(map[string]any)
			fields, _ = part["properties"].(map[string]any)
			prefix = parent + "."
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			field, _ := fields[name].(map[string]any)
			switch field["type"] {
			case "string", "integer", "boolean":
				if prefix+name != d.renamed && name != "apiVersion" && name != "kind" && r.chance(60) {
					paths = append(paths, prefix+name)
				}
			}
		}
	}
	return paths[:min(len(paths), 3)]
}

// list lists the objects that have a value in a selectable field.
func (l *life) list(paths []string) {
	selector := pick(l.Source, paths...) + pick(l.Source, "=", "!=", "%3D%3D") + pick(l.Source, "0", "1", "5", "true", "false", "a", "ab", "")
	if l.chance(20) {
		selector += ",metadata.name=" + l.name
	}
	if l.chance(5) {
		selector = pick(l.Source, "nope=1", "spec=1", "metadata.uid=1", "spec.replicas", "=")
	}
	l.Do(play.Step{Method: "GET", Path: l.collection + "?fieldSelector=" + selector})
}
