package generate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

var unescape, escape = strings.NewReplacer("~1", "/", "~0", "~"), strings.NewReplacer("~", "~0", "/", "~1")

// Get returns the value at a path of an object.
func Get(object map[string]any, path string) (any, bool) {
	var here any = object
	for token := range tokens(path) {
		switch parent := here.(type) {
		case map[string]any:
			next, ok := parent[token]
			if !ok {
				return nil, false
			}
			here = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(parent) {
				return nil, false
			}
			here = parent[i]
		default:
			return nil, false
		}
	}
	return here, true
}

// Edit returns a copy of an object to which the steps set and remove have been applied. Objects that a path
// names and that do not exist are created.
func Edit(object map[string]any, steps ...Step) (map[string]any, error) {
	var root any = runtime.DeepCopyJSON(object)
	for _, s := range steps {
		var err error
		switch s.Verb {
		case Set, EditOwned, EditNeed:
			root, err = edit(root, slices.Collect(tokens(s.Path)), runtime.DeepCopyJSONValue(s.Value), false)
		case Remove:
			root, err = edit(root, slices.Collect(tokens(s.Path)), nil, true)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
	}
	return root.(map[string]any), nil
}

// tokens yields the tokens of a JSON pointer.
func tokens(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for token := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
			if !yield(unescape.Replace(token)) {
				return
			}
		}
	}
}

func edit(here any, path []string, value any, remove bool) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	if here == nil && remove {
		return nil, nil
	}
	switch parent := here.(type) {
	case nil:
		return edit(map[string]any{}, path, value, remove)
	case map[string]any:
		if remove && len(path) == 1 {
			delete(parent, path[0])
			return parent, nil
		}
		child, ok := parent[path[0]]
		if remove && !ok {
			return parent, nil
		}
		changed, err := edit(child, path[1:], value, remove)
		parent[path[0]] = changed
		return parent, err
	case []any:
		i, err := strconv.Atoi(path[0])
		switch {
		case err != nil || i < 0 || i > len(parent) || remove && i == len(parent):
			return here, fmt.Errorf("the list has no item %s", path[0])
		case remove && len(path) == 1:
			return slices.Delete(parent, i, i+1), nil
		case i == len(parent):
			parent = append(parent, nil)
		}
		changed, err := edit(parent[i], path[1:], value, remove)
		parent[i] = changed
		return parent, err
	}
	return here, fmt.Errorf("%s is not below an object or a list", path[0])
}
