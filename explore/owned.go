package explore

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// leavesField reports whether the operator applies an object without a field, so that the field belongs to
// others. Fields that the operator updates besides count as its own; managers are its names as a field
// manager. It returns false for an object that is never applied, because an update owns all defaults, too.
func leavesField(o state.Object, path string, managers []string) bool {
	applied := map[string]bool{} // by these managers
	for _, entry := range o.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationApply {
			applied[entry.Manager] = true
		}
	}
	for _, entry := range o.GetManagedFields() {
		if !applied[entry.Manager] && !slices.Contains(managers, entry.Manager) || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && ownsField(fields, o.Object, strings.Split(strings.TrimPrefix(path, "/"), "/")) {
			return false
		}
	}
	return len(applied) > 0
}

// ownsField reports whether a set of fields, as in managedFields, contains the field at a path of a value.
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
		for key, below := range fields {
			var keys map[string]any
			if text, isValue := strings.CutPrefix(key, "v:"); isValue {
				var wanted any
				if json.Unmarshal([]byte(text), &wanted) == nil && same(parent[i], wanted) {
					return true
				}
			}
			text, isKey := strings.CutPrefix(key, "k:")
			item, isMap := parent[i].(map[string]any)
			if !isKey || !isMap || json.Unmarshal([]byte(text), &keys) != nil {
				continue
			}
			matches := true
			for name, wanted := range keys {
				matches = matches && same(item[name], wanted)
			}
			if found, isMap := below.(map[string]any); matches && isMap {
				return ownsField(found, item, path[1:])
			}
		}
	}
	return false
}

var unescapeKey = strings.NewReplacer("~1", "/", "~0", "~")
