package exchange

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// edited returns the object that was answered, after a change.
func edited(answer []byte, edit func(map[string]any)) ([]byte, error) {
	object := map[string]any{}
	if err := json.Unmarshal(answer, &object); err != nil {
		return nil, err
	}
	edit(object)
	return json.Marshal(object)
}

// merge changes the object as a merge patch does.
func merge(object, change map[string]any) {
	for key, value := range change {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isMap:
			below, ok := object[key].(map[string]any)
			if !ok {
				below = map[string]any{}
			}
			merge(below, inner)
			object[key] = below
		default:
			object[key] = value
		}
	}
}

// valueAt returns the value at a path such as metadata.uid or items.0.metadata.name, as text; empty: there is none.
func valueAt(answer []byte, path string) string {
	var value any
	if json.Unmarshal(answer, &value) != nil {
		return ""
	}
	for key := range strings.SplitSeq(path, ".") {
		switch typed := value.(type) {
		case map[string]any:
			value = typed[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(typed) {
				return ""
			}
			value = typed[i]
		default:
			return ""
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
