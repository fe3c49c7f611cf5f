package observe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
)

// Map returns the JSON of an object as a map, or nil if it cannot be encoded.
func Map(obj runtime.Object) map[string]any {
	if obj == nil {
		return nil
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return runtime.DeepCopyJSON(u.Object)
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return nil
	}
	return mapOf(text)
}

// mapOf decodes an object in JSON.
func mapOf(text []byte) map[string]any {
	var m map[string]any
	if utiljson.Unmarshal(text, &m) != nil {
		return nil
	}
	return m
}

// read records how the body was decoded: missing fields were pruned, and new ones are defaults.
func (e *explanation) read(sent, read map[string]any) {
	if sent == nil || read == nil {
		return
	}
	for _, c := range history.Diff(sent, read) {
		switch {
		case c.Is == nil:
			e.pruned(c.Path, c.Was)
		case c.Was == nil:
			e.defaulted(c.Path, c.Is)
		default:
			e.note(func(noted *inspect.Explanation) {
				noted.Read = append(noted.Read, inspect.FieldChange{Path: c.Path, Was: c.Was, Is: c.Is})
			})
		}
	}
}

// merged records the result of a patch with only the fields that it sets, such as an apply configuration: fields in
// neither the patch nor the former state are defaults, and fields that are only in the patch were pruned.
func (e *explanation) merged(before, patch, after map[string]any) {
	if after == nil {
		return
	}
	for _, c := range history.Diff(before, after) {
		if c.Was != nil || byServer[c.Path] {
			continue
		}
		for _, v := range leaves(c.Path, c.Is) {
			if !byServer[v.Path] && !strings.HasPrefix(v.Path, "metadata.managedFields") && !names(patch, v.Path) {
				e.defaulted(v.Path, v.Value)
			}
		}
	}
	e.lost("", patch, after)
}

// lost records the fields of a patch that are not in the object as pruned.
func (e *explanation) lost(path string, patch, after map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		value := patch[name]
		if value == nil || strings.HasPrefix(name, "$") {
			continue
		}
		field := history.Join(path, name)
		below, isMap := value.(map[string]any)
		switch now, ok := after[name]; {
		case !ok && !(isMap && len(leaves(field, below)) == 0):
			e.pruned(field, value)
		case isMap:
			if now, ok := now.(map[string]any); ok {
				e.lost(field, below, now)
			}
		}
	}
}

// names reports whether a patch has a field, a field below it, or the whole value that contains it. It ignores the items
// of lists, which a patch merges in its own way.
func names(patch map[string]any, path string) bool {
	for name, value := range patch {
		rest, ok := strings.CutPrefix(path, history.Join("", name))
		if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		below, isMap := value.(map[string]any)
		if !isMap || rest == "" {
			return true
		}
		return names(below, strings.TrimPrefix(rest, "."))
	}
	return false
}

func (e *explanation) pruned(path string, value any) {
	e.note(func(noted *inspect.Explanation) {
		noted.Pruned = append(noted.Pruned, inspect.FieldValue{Path: path, Value: value})
	})
}

func (e *explanation) defaulted(path string, value any) {
	values := leaves(path, value)
	e.note(func(noted *inspect.Explanation) { noted.Defaulted = append(noted.Defaulted, values...) })
}

// leaves returns the fields of a value that are not maps. It leaves out empty maps, which objects of Go types have for
// missing values.
func leaves(path string, value any) []inspect.FieldValue {
	m, ok := value.(map[string]any)
	if !ok {
		if value == nil {
			return nil
		}
		return []inspect.FieldValue{{Path: path, Value: value}}
	}
	var values []inspect.FieldValue
	for _, name := range slices.Sorted(maps.Keys(m)) {
		values = append(values, leaves(history.Join(path, name), m[name])...)
	}
	return values
}

// Changes returns what differs between two states of an object.
func Changes(before, after map[string]any) []inspect.FieldChange {
	var changes []inspect.FieldChange
	for _, c := range history.Diff(before, after) {
		if strings.HasPrefix(c.Path, "metadata.managedFields") {
			continue
		}
		if c.Was == nil {
			for _, v := range leaves(c.Path, c.Is) {
				changes = append(changes, inspect.FieldChange{Path: v.Path, Is: v.Value})
			}
			continue
		}
		if c.Is == nil && len(leaves(c.Path, c.Was)) == 0 {
			continue
		}
		changes = append(changes, inspect.FieldChange{Path: c.Path, Was: c.Was, Is: c.Is})
	}
	return changes
}

// byServer are fields that are left out: the server sets them, or they are in the request.
var byServer = map[string]bool{
	"apiVersion": true, "kind": true, "metadata.name": true, "metadata.namespace": true, "metadata.uid": true,
	"metadata.creationTimestamp": true, "metadata.generation": true, "metadata.resourceVersion": true,
}

// changed records the changes of the object, and the owners of the fields.
func (e *explanation) changed(former, current map[string]any) {
	before, after := ownersOf(former), ownersOf(current)
	changes := slices.DeleteFunc(Changes(former, current), func(c inspect.FieldChange) bool {
		return byServer[c.Path] || strings.HasPrefix(c.Path, "metadata.managedFields")
	})
	for i := range changes {
		c := &changes[i]
		c.OwnersBefore, c.Owners = before.managersOf(c.Path), after.managersOf(c.Path)
	}
	name, _, _ := unstructured.NestedString(current, "metadata", "name")
	e.named(name)
	e.note(func(noted *inspect.Explanation) { noted.Changes = changes })
}

// owners has the managers of fields, by path.
type owners map[string][]string

// ownersOf returns the owners in the managedFields of an object.
func ownersOf(obj map[string]any) owners {
	o := owners{}
	entries, _, _ := unstructured.NestedSlice(obj, "metadata", "managedFields")
	for _, one := range entries {
		entry, _ := one.(map[string]any)
		manager, _ := entry["manager"].(string)
		if sub, _ := entry["subresource"].(string); sub != "" {
			manager += " (" + sub + ")"
		}
		if fields, ok := entry["fieldsV1"].(map[string]any); ok {
			o.read("", manager, fields)
		}
	}
	return o
}

func (o owners) read(path, manager string, fields map[string]any) {
	leaf := true
	for name, value := range fields {
		below, _ := value.(map[string]any)
		owned := path
		switch kind, rest, _ := strings.Cut(name, ":"); kind {
		case ".":
			continue
		case "f":
			owned = history.Join(path, rest)
		case "k":
			owned = path + "[" + keys(rest) + "]"
		case "v":
			owned = path + "[]"
		case "i":
			owned = path + "[" + rest + "]"
		}
		leaf = false
		o.read(owned, manager, below)
	}
	if leaf && path != "" && !slices.Contains(o[path], manager) {
		o[path] = append(o[path], manager)
	}
}

// keys formats the keys of an item as package history does.
func keys(text string) string {
	m := mapOf([]byte(text))
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, m[name]))
	}
	return strings.Join(parts, ",")
}

// managersOf returns the managers of a field: of itself, of fields below it, or else of the field that contains it.
func (o owners) managersOf(path string) []string {
	found := map[string]bool{}
	within := ""
	for owned, managers := range o {
		switch {
		case owned == path || isBelow(owned, path):
			for _, m := range managers {
				found[m] = true
			}
		case isBelow(path, owned) && len(owned) > len(within):
			within = owned
		}
	}
	if len(found) == 0 && within != "" {
		for _, m := range o[within] {
			found[m] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// isBelow reports whether a path is below another one.
func isBelow(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// conflicts records the conflicts of an apply, from the causes of its error.
func (e *explanation) conflicts(causes []metav1.StatusCause) {
	for _, c := range causes {
		if c.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		owner := strings.TrimPrefix(c.Message, "conflict with ")
		manager := owner
		if quoted, err := strconv.QuotedPrefix(owner); err == nil {
			if name, err := strconv.Unquote(quoted); err == nil {
				manager = name
			}
		}
		e.note(func(noted *inspect.Explanation) {
			noted.Conflicts = append(noted.Conflicts, inspect.FieldConflict{Path: strings.TrimPrefix(c.Field, "."), Manager: manager, Owner: owner})
		})
	}
}

// refusals converts the causes of an error.
func refusals(causes []metav1.StatusCause) []inspect.FieldError {
	var found []inspect.FieldError
	for _, c := range causes {
		found = append(found, inspect.FieldError{Path: strings.TrimPrefix(c.Field, "<nil>"), Type: string(c.Type), Message: c.Message})
	}
	return found
}
