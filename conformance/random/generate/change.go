package generate

import "strconv"

// change is a value at a path of an object. An element of a path is the name of a field, the key of a map, or the index of an item.
type change struct {
	path   []string
	value  any
	schema *Schema // of the value; nil: it is not known
}

// change returns a random change of an object by its schema. Metadata is changed by hand-picked fields, as that of all kinds is alike.
func (r Source) change(root *Schema) change {
	if root == nil || r.chance(12) {
		return r.metadataChange()
	}
	var path []string
	s := root
	for depth := 5; depth > 0; depth-- {
		switch {
		case s == nil:
			depth = 1
			continue
		case len(s.Properties) > 0:
			name := pick(r, s.fields()...)
			if len(path) == 0 && (name == "apiVersion" || name == "kind" || name == "metadata") && !r.chance(10) {
				continue
			}
			if r.chance(3) {
				name = pick(r, "nope", "Name", "")
			}
			path, s = append(path, name), s.Properties[name]
		case s.Type == "array" && r.chance(70):
			path, s = append(path, strconv.Itoa(pick(r, 0, 0, 0, 1))), s.Items
		case s.Type == "object" && s.Values != nil && r.chance(70):
			path, s = append(path, pick(r, "a", "b", "example.com/c", "cpu", "")), s.Values
		default:
			depth = 1
		}
		if len(path) > 1 && r.chance(20) {
			break
		}
	}
	if len(path) == 0 {
		return r.metadataChange()
	}
	return change{path, r.value(s, 2), s}
}

// metadataChange changes metadata.
func (r Source) metadataChange() change {
	if r.chance(6) {
		return change{path: []string{"metadata"}, value: r.odd(1)}
	}
	name := pick(r, "labels", "labels", "annotations", "annotations", "finalizers", "ownerReferences", "generateName", "name", "namespace", "uid", "resourceVersion",
		"generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields", "nope")
	var value any
	switch {
	case r.chance(25):
		value = r.odd(2)
	case name == "labels" || name == "annotations":
		entries := map[string]any{}
		for range r.IntN(3) {
			entries[pick(r, "a", "b", "example.com/c", "-", "a/b/c", "")] = pick[any](r, "x", "y", "", "a b", nil)
		}
		value = entries
	case name == "finalizers":
		value = pick[any](r, []any{}, []any{"example.com/a"}, []any{"a"}, []any{"example.com/a", "example.com/a"}, []any{"foregroundDeletion"}, nil)
	case name == "ownerReferences":
		owner := map[string]any{"apiVersion": pick(r, "v1", "apps/v1", "", "a/b/c"), "kind": pick(r, "ConfigMap", "Event", ""), "name": pick(r, "o", ""), "uid": pick(r, "u", "")}
		if r.chance(40) {
			owner["controller"] = pick[any](r, true, false, nil)
		}
		value = pick[any](r, []any{owner}, []any{owner, owner}, []any{}, nil)
	case name == "managedFields":
		entry := map[string]any{"manager": pick(r, "m1", "m2", ""), "operation": pick(r, "Apply", "Update", "Nope"), "apiVersion": pick(r, "v1", "apps/v1", "nope"), "fieldsType": pick(r, "FieldsV1", ""), "fieldsV1": pick[any](r, map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:a": map[string]any{}}}}, map[string]any{"x": 1}, nil)}
		value = pick[any](r, []any{}, []any{map[string]any{}}, []any{entry}, nil)
	default:
		value = r.odd(1)
	}
	return change{path: []string{"metadata", name}, value: value}
}

// set makes a change in a copy of the parts of an object that it touches. Where the object has something else than the path says, it is replaced.
func set(object any, c change) any {
	if len(c.path) == 0 {
		return c.value
	}
	rest := change{path: c.path[1:], value: c.value}
	if index, err := strconv.Atoi(c.path[0]); err == nil {
		list, isList := object.([]any)
		if !isList && object != nil {
			list = nil
		}
		list = append([]any{}, list...)
		if index < len(list) {
			list[index] = set(list[index], rest)
		} else {
			list = append(list, set(nil, rest))
		}
		return list
	}
	fields := map[string]any{}
	if current, ok := object.(map[string]any); ok {
		for k, v := range current {
			fields[k] = v
		}
	}
	fields[c.path[0]] = set(fields[c.path[0]], rest)
	return fields
}

// pointer returns the path as a JSON pointer.
func (c change) pointer() string {
	text := ""
	for _, element := range c.path {
		text += "/" + escape(element)
	}
	return text
}
