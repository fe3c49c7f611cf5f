package explore

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// isWritten reports whether one of some field managers has written an object.
func isWritten(o metav1.Object, managers map[string]bool) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return managers[entry.Manager] })
}

// isSet reports whether one of some field managers has set a field of an object.
func isSet(o *unstructured.Unstructured, path string, managers map[string]bool) bool {
	fields := fieldsOf(o, func(manager string) bool { return managers[manager] })
	return len(fields) > 0 && ownsField(fields, o.Object, strings.Split(strings.TrimPrefix(path, "/"), "/"))
}

// fieldsOf returns the set of the fields of an object, as in managedFields, that belong to the managers for
// which by returns true.
func fieldsOf(o *unstructured.Unstructured, by func(manager string) bool) map[string]any {
	fields := map[string]any{}
	for _, entry := range o.GetManagedFields() {
		var set map[string]any
		if by(entry.Manager) && entry.FieldsV1 != nil && json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set) == nil {
			addFields(fields, set)
		}
	}
	return fields
}

// addFields adds a set of fields to another one. A field without fields below it belongs to the set as a whole.
func addFields(fields, added map[string]any) {
	for key, value := range added {
		below, _ := value.(map[string]any)
		former, has := fields[key].(map[string]any)
		switch {
		case !has:
			fields[key] = below
		case len(former) == 0 || len(below) == 0:
			fields[key] = map[string]any{}
		default:
			addFields(former, below)
		}
	}
}

// ownsField reports whether a set of fields contains the field at a path of a value.
func ownsField(fields map[string]any, value any, path []string) bool {
	if len(path) == 0 || len(fields) == 0 {
		return true // it has the field as a whole
	}
	switch parent := value.(type) {
	case map[string]any:
		name := unescapeKey.Replace(path[0])
		below, owned := fields["f:"+name].(map[string]any)
		return owned && ownsField(below, parent[name], path[1:])
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(parent) {
			return false
		}
		below, owned := fieldsOfItem(fields, parent[i])
		return owned && ownsField(below, parent[i], path[1:])
	}
	return false
}

// fieldsOfItem returns the fields of an item in the set of fields of its list, which has the key or the value of
// the item.
func fieldsOfItem(fields map[string]any, item any) (below map[string]any, found bool) {
	for key, value := range fields {
		if text, isValue := strings.CutPrefix(key, "v:"); isValue {
			var wanted any
			if json.Unmarshal([]byte(text), &wanted) == nil && same(item, wanted) {
				return map[string]any{}, true
			}
		}
		text, isKey := strings.CutPrefix(key, "k:")
		has, isMap := item.(map[string]any)
		var keys map[string]any
		if !isKey || !isMap || json.Unmarshal([]byte(text), &keys) != nil {
			continue
		}
		matches := true
		for name, wanted := range keys {
			matches = matches && same(has[name], wanted)
		}
		if below, isMap := value.(map[string]any); matches && isMap {
			return below, true
		}
	}
	return nil, false
}

// withoutFields returns a value without the fields of a set that do not belong to another set, too; nil: nothing is left.
func withoutFields(value any, fields, keep map[string]any) any {
	if keep != nil && (len(keep) == 0 || len(fields) == 0) {
		return value // it belongs to the other set as a whole, or may
	}
	if len(fields) == 0 {
		return nil
	}
	switch whole := value.(type) {
	case map[string]any:
		left := map[string]any{}
		for name, field := range whole {
			if below, has := fields["f:"+name].(map[string]any); has {
				kept, _ := keep["f:"+name].(map[string]any)
				field = withoutFields(field, below, kept)
			}
			if field != nil {
				left[name] = field
			}
		}
		if len(left) > 0 {
			return left
		}
	case []any:
		var left []any
		for _, item := range whole {
			if below, has := fieldsOfItem(fields, item); has {
				kept, _ := fieldsOfItem(keep, item)
				item = withoutFields(item, below, kept)
			}
			if item != nil {
				left = append(left, item)
			}
		}
		if len(left) > 0 {
			return left
		}
	}
	return nil
}

var unescapeKey = strings.NewReplacer("~1", "/", "~0", "~")
