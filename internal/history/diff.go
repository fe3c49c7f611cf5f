package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/redact"
)

// Diff returns the changes between two states of an object. Items of a list are compared by their keys, if the
// managedFields show that the list has keys, and otherwise by index. It leaves out resourceVersion, generation and
// managedFields, unless only these differ. Values of Secrets are hidden, also of one that is a part of the object.
func Diff(before, after map[string]any) []inspect.FieldChange {
	d := differ{}
	kinds := &list{}
	kinds.learn(before)
	kinds.learn(after)
	d.maps("", before, after, kinds)
	if len(d.found) == 0 {
		d.managers(before, after)
	}
	return d.found
}

// counted are the fields that change with each write.
var counted = map[string]bool{"metadata.managedFields": true, "metadata.resourceVersion": true, "metadata.generation": true}

// list has what managedFields show about the lists below a field.
type list struct {
	below map[string]*list // by the name of a field
	item  *list            // below an item; nil: no items
	keys  []string         // of the items; nil: none
	set   bool             // the items are a set
}

// learn reads the managedFields of an object.
func (l *list) learn(obj map[string]any) {
	metadata, _ := obj["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, one := range entries {
		entry, _ := one.(map[string]any)
		if fields, ok := entry["fieldsV1"].(map[string]any); ok {
			l.read(fields)
		}
	}
}

func (l *list) read(fields map[string]any) {
	for name, below := range fields {
		children, _ := below.(map[string]any)
		switch kind, rest, _ := strings.Cut(name, ":"); kind {
		case "f":
			if l.below == nil {
				l.below = map[string]*list{}
			}
			if l.below[rest] == nil {
				l.below[rest] = &list{}
			}
			l.below[rest].read(children)
		case "k":
			var key map[string]any
			if json.Unmarshal([]byte(rest), &key) != nil {
				continue
			}
			l.keys = slices.Sorted(maps.Keys(key))
			if l.item == nil {
				l.item = &list{}
			}
			l.item.read(children)
		case "v":
			l.set = true
		}
	}
}

func (l *list) field(name string) *list {
	if l == nil {
		return nil
	}
	return l.below[name]
}

// differ collects changes.
type differ struct{ found []inspect.FieldChange }

// add adds a change, without the values of Secrets in it.
func (d *differ) add(c inspect.FieldChange) {
	c.Was, c.Is = redact.Value(c.Was), redact.Value(c.Is)
	d.found = append(d.found, c)
}

// redactSecret hides the values of the changes of a Secret at a path, from the index from on.
func (d *differ) redactSecret(path string, from int) {
	for i := range d.found[from:] {
		c := &d.found[from+i]
		rest := strings.TrimPrefix(c.Path, path)
		c.Was, c.Is = redact.SecretField(rest, c.Was, redact.Former), redact.SecretField(rest, c.Is, redact.Hidden)
	}
}

func (d *differ) values(path string, before, after any, kinds *list) {
	if reflect.DeepEqual(before, after) {
		return
	}
	wasMap, ok1 := before.(map[string]any)
	isMap, ok2 := after.(map[string]any)
	if ok1 && ok2 {
		d.maps(path, wasMap, isMap, kinds)
		return
	}
	wasList, ok1 := before.([]any)
	isList, ok2 := after.([]any)
	if ok1 && ok2 {
		d.lists(path, wasList, isList, kinds)
		return
	}
	d.add(inspect.FieldChange{Path: path, Was: before, Is: after})
}

func (d *differ) maps(path string, before, after map[string]any, kinds *list) {
	if redact.IsSecret(before) || redact.IsSecret(after) {
		defer d.redactSecret(path, len(d.found))
	}
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		field := Join(path, name)
		if counted[field] {
			continue
		}
		d.values(field, before[name], after[name], kinds.field(name))
	}
}

// Join adds the name of a field to a path.
func Join(path, name string) string {
	switch {
	case strings.ContainsAny(name, `./[]"= `) || name == "":
		return fmt.Sprintf("%s[%q]", path, name)
	case path == "":
		return name
	}
	return path + "." + name
}

func (d *differ) lists(path string, before, after []any, kinds *list) {
	switch {
	case kinds != nil && kinds.keys != nil && keyed(before, kinds.keys) && keyed(after, kinds.keys):
		d.keyed(path, before, after, kinds)
	case kinds != nil && kinds.set:
		d.sets(path, before, after)
	default:
		for i := range max(len(before), len(after)) {
			d.values(fmt.Sprintf("%s[%d]", path, i), item(before, i), item(after, i), nil)
		}
	}
}

func item(items []any, i int) any {
	if i < len(items) {
		return items[i]
	}
	return nil
}

// keyed reports whether the keys of all items differ.
func keyed(items []any, keys []string) bool {
	seen := map[string]bool{}
	for _, item := range items {
		key := keyOf(item, keys)
		if key == "" || seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

// keyOf returns the text of an item in a path, with the keys that it has.
func keyOf(item any, keys []string) string {
	fields, _ := item.(map[string]any)
	var parts []string
	for _, key := range keys {
		if value, ok := fields[key]; ok {
			parts = append(parts, fmt.Sprintf("%s=%v", key, value))
		}
	}
	return strings.Join(parts, ",")
}

func (d *differ) keyed(path string, former, current []any, kinds *list) {
	before := map[string]any{}
	var order, common []string
	for _, item := range former {
		key := keyOf(item, kinds.keys)
		before[key] = item
		order = append(order, key)
	}
	after := map[string]bool{}
	for _, item := range current {
		key := keyOf(item, kinds.keys)
		after[key] = true
		d.values(path+"["+key+"]", before[key], item, kinds.item)
		if before[key] != nil {
			common = append(common, key)
		}
	}
	for i, key := range order {
		if !after[key] {
			d.values(path+"["+key+"]", former[i], nil, kinds.item)
		}
	}
	order = slices.DeleteFunc(order, func(key string) bool { return !after[key] })
	if !slices.Equal(order, common) {
		d.add(inspect.FieldChange{Path: path + " (order)", Was: strings.Join(order, " "), Is: strings.Join(common, " ")})
	}
}

func (d *differ) sets(path string, before, after []any) {
	has := func(items []any, one any) bool {
		return slices.ContainsFunc(items, func(other any) bool { return reflect.DeepEqual(one, other) })
	}
	for _, one := range before {
		if !has(after, one) {
			d.add(inspect.FieldChange{Path: path + "[]", Was: one})
		}
	}
	for _, one := range after {
		if !has(before, one) {
			d.add(inspect.FieldChange{Path: path + "[]", Is: one})
		}
	}
}

// managers compares the owners of an object's fields, without times.
func (d *differ) managers(former, current map[string]any) {
	before, after := managersOf(former), managersOf(current)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !reflect.DeepEqual(before[name], after[name]) {
			d.add(inspect.FieldChange{Path: "metadata.managedFields[" + name + "]", Was: before[name], Is: after[name]})
		}
	}
}

// managersOf returns the fields of each manager.
func managersOf(obj map[string]any) map[string]any {
	metadata, _ := obj["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	fields := map[string]any{}
	for _, one := range entries {
		entry, _ := one.(map[string]any)
		name := fmt.Sprint(entry["manager"], " ", entry["operation"])
		if sub, ok := entry["subresource"]; ok {
			name += fmt.Sprint(" ", sub)
		}
		fields[name] = entry["fieldsV1"]
	}
	return fields
}

// DiffText is Diff for two states in JSON. It decodes only the fields that differ, so that it is fast for small changes
// of large objects.
func DiffText(former, current string) []inspect.FieldChange {
	before, after, lists := differing(former, current)
	if !lists {
		d := differ{}
		if d.maps("", before, after, nil); len(d.found) > 0 {
			return d.found
		}
	}
	put(before["metadata"].(map[string]any), "managedFields", gjson.Get(former, "metadata.managedFields"))
	put(after["metadata"].(map[string]any), "managedFields", gjson.Get(current, "metadata.managedFields"))
	return Diff(before, after)
}

// differing decodes the fields of two objects, and those of their metadata, whose JSON differs, without counted fields.
// lists reports whether any contains a list: the managedFields, which show whether a list has keys, are then needed,
// too.
func differing(old, new string) (before, after map[string]any, lists bool) {
	first, second := map[string]any{}, map[string]any{}
	before, after = map[string]any{"metadata": first}, map[string]any{"metadata": second}
	if gjson.Get(old, "kind").Str == "Secret" { // Diff hides its values
		before["kind"], after["kind"] = "Secret", "Secret"
	}
	one, other := gjson.Parse(old), gjson.Parse(new)
	note := func(name string, a, b gjson.Result, before, after map[string]any) {
		lists = lists || strings.Contains(a.Raw, "[") || strings.Contains(b.Raw, "[")
		put(before, name, a)
		put(after, name, b)
	}
	unequal(one, other, func(name string, a, b gjson.Result) {
		if name != "metadata" || !a.IsObject() || !b.IsObject() {
			note(name, a, b, before, after)
			return
		}
		unequal(a, b, func(name string, a, b gjson.Result) {
			if !counted["metadata."+name] {
				note(name, a, b, first, second)
			}
		})
	})
	return before, after, lists
}

// unequal calls do for each field whose text differs.
func unequal(a, b gjson.Result, do func(name string, a, b gjson.Result)) {
	fields := map[string]gjson.Result{}
	a.ForEach(func(name, value gjson.Result) bool {
		fields[name.String()] = value
		return true
	})
	b.ForEach(func(name, value gjson.Result) bool {
		former, ok := fields[name.String()]
		if !ok || former.Raw != value.Raw {
			do(name.String(), former, value)
		}
		delete(fields, name.String())
		return true
	})
	for name, value := range fields {
		do(name, value, gjson.Result{})
	}
}

// put decodes a field, if it exists.
func put(into map[string]any, name string, value gjson.Result) {
	var decoded any
	if value.Exists() && utiljson.Unmarshal([]byte(value.Raw), &decoded) == nil {
		into[name] = decoded
	}
}
