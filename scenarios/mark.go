package scenarios

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
)

// A mark is a YAML tag where a value would stand. It says of a field what no
// value can say, and since Kubernetes manifests carry no tags of their own, it
// cannot be taken for content.
//
// A tree of a scenario is a JSON value (map[string]any, []any, string, int64,
// float64, bool, nil) in which marks may stand in the place of values.
type (
	// absent is !absent: the field is not there.
	absent struct{}
	// present is !present: the field is there, whatever its value.
	present struct{}
	// only is !only: the mapping has these fields and no others.
	only struct{ fields map[string]any }
	// unordered is !unordered: the list has these items and no others, in any order.
	unordered struct{ items []any }
	// from is !from: the value at a path in the answer to an earlier step.
	from struct {
		pos    Position
		answer string
		path   []string
	}
	// computed is !cel: what an expression makes of earlier answers, or of the request that a
	// webhook got.
	computed struct {
		pos     Position
		text    string
		program cel.Program
	}
)

// The tags of the marks.
const (
	tagAbsent    = "!absent"
	tagPresent   = "!present"
	tagOnly      = "!only"
	tagUnordered = "!unordered"
	tagFrom      = "!from"
	tagCEL       = "!cel"
)

// Where which marks make sense: a manifest says what to send, so it has no use for a
// mark that leaves the value open. What a webhook replies depends on what it got, and
// on nothing that it cannot know.
var (
	noMarks          = []string{}
	valueMarks       = []string{tagCEL, tagFrom}
	manifestMarks    = []string{tagAbsent, tagCEL, tagFrom}
	expectationMarks = []string{tagAbsent, tagCEL, tagFrom, tagOnly, tagPresent, tagUnordered}
	parameterMarks   = []string{tagAbsent, tagFrom, tagOnly, tagPresent, tagUnordered}
	replyMarks       = []string{tagAbsent, tagCEL}
)

func (f from) String() string {
	return tagFrom + " " + strings.Join(append([]string{f.answer}, f.path...), ".")
}

// resolve returns a copy of tree in which each !from is replaced by its value.
// The other marks stay.
func resolve(tree any, answers map[string]answer) (any, error) {
	switch t := tree.(type) {
	case map[string]any:
		return resolveFields(t, answers)
	case only:
		fields, err := resolveFields(t.fields, answers)
		return only{fields}, err
	case unordered:
		items, err := resolveItems(t.items, answers)
		return unordered{items}, err
	case []any:
		return resolveItems(t, answers)
	case from:
		value, err := t.lookup(answers[t.answer].body)
		if err != nil {
			return nil, err
		}
		return resolve(value, answers) // what a case says may refer to an answer
	case computed:
		return t.value(answers)
	default:
		return tree, nil
	}
}

func resolveFields(fields map[string]any, answers map[string]answer) (map[string]any, error) {
	resolved := make(map[string]any, len(fields))
	for name, field := range fields {
		value, err := resolve(field, answers)
		if err != nil {
			return nil, err
		}
		resolved[name] = value
	}
	return resolved, nil
}

func resolveItems(items []any, answers map[string]answer) ([]any, error) {
	resolved := make([]any, len(items))
	for i, item := range items {
		var err error
		if resolved[i], err = resolve(item, answers); err != nil {
			return nil, err
		}
	}
	return resolved, nil
}

func (f from) lookup(value any) (any, error) {
	for _, key := range f.path {
		var found bool
		inside := value
		switch v := inside.(type) {
		case map[string]any:
			value, found = v[key]
		case []any:
			if i, err := strconv.Atoi(key); err == nil && 0 <= i && i < len(v) {
				value, found = v[i], true
			}
		}
		if !found {
			fields, _ := inside.(map[string]any)
			return nil, fmt.Errorf("%s: %s: the answer has no %q there%s", f.pos, f, key, suggestion(key, sortedFields(fields)))
		}
	}
	return value, nil
}

// plain returns a copy of a resolved tree without marks: fields marked !absent are
// left out, !only is its mapping, !unordered its list, and !present, which only an expectation can have,
// is something that equals no value and shows in a difference as what it is.
func plain(tree any) any {
	switch t := tree.(type) {
	case map[string]any:
		fields := make(map[string]any, len(t))
		for name, field := range t {
			if _, gone := field.(absent); !gone {
				fields[name] = plain(field)
			}
		}
		return fields
	case only:
		return plain(t.fields)
	case unordered:
		return plain(t.items)
	case present:
		return placeholder(tagPresent)
	case []any:
		items := make([]any, 0, len(t))
		for _, item := range t {
			if _, gone := item.(absent); !gone { // a parameter that a case leaves out
				items = append(items, plain(item))
			}
		}
		return items
	default:
		return tree
	}
}

// placeholder stands for a value that is not known. Its type keeps it from equalling
// a string.
type placeholder string

// String makes go-cmp show it as s"!present".
func (p placeholder) String() string { return string(p) }
