package player

import (
	"fmt"
	"strconv"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// valueOf evaluates the expression on earlier answers, or on a request of that name.
func valueOf(c syntax.Computed, answers map[string]Answer) (any, error) {
	value, _, err := syntax.Evaluate(c.Program, variablesOf(answers))
	if err == nil {
		var tree any
		if tree, err = syntax.ToJSON(value); err == nil {
			return tree, nil
		}
	}
	return nil, fmt.Errorf("%s: %s: %w", c.Pos, c.Text, redactEvaluationError(c.Program, answers, err))
}

// variablesOf returns answers as the variables of expressions.
func variablesOf(answers map[string]Answer) map[string]any {
	variables := make(map[string]any, len(answers)+1)
	for name, earlier := range answers {
		variables[name] = plain(earlier.Body)
	}
	return variables
}

// compute returns a copy of tree in which each !cel is replaced by its value.
func compute(tree, request any) (any, error) {
	switch t := tree.(type) {
	case syntax.Computed:
		return valueOf(t, map[string]Answer{syntax.RequestName: {Body: request}})
	case map[string]any:
		fields := make(map[string]any, len(t))
		for name, field := range t {
			value, err := compute(field, request)
			if err != nil {
				return nil, err
			}
			fields[name] = value
		}
		return fields, nil
	case []any:
		items := make([]any, len(t))
		for i, item := range t {
			var err error
			if items[i], err = compute(item, request); err != nil {
				return nil, err
			}
		}
		return items, nil
	default:
		return tree, nil
	}
}

// Resolve returns a copy of tree in which each !from is replaced by its value.
// The other marks stay.
func Resolve(tree any, answers map[string]Answer) (any, error) {
	switch t := tree.(type) {
	case map[string]any:
		return resolveFields(t, answers)
	case syntax.Only:
		fields, err := resolveFields(t.Fields, answers)
		return syntax.Only{Fields: fields}, err
	case syntax.Unordered:
		items, err := ResolveItems(t.Items, answers)
		return syntax.Unordered{Items: items}, err
	case []any:
		return ResolveItems(t, answers)
	case syntax.From:
		value, err := lookup(t, answers[t.Answer].Body)
		if err != nil {
			return nil, err
		}
		return Resolve(value, answers) // a parameter of a case may refer to an answer
	case syntax.Computed:
		return valueOf(t, answers)
	default:
		return tree, nil
	}
}

func resolveFields(fields map[string]any, answers map[string]Answer) (map[string]any, error) {
	resolved := make(map[string]any, len(fields))
	for name, field := range fields {
		value, err := Resolve(field, answers)
		if err != nil {
			return nil, err
		}
		resolved[name] = value
	}
	return resolved, nil
}

// ResolveItems is Resolve for the items of a list.
func ResolveItems(items []any, answers map[string]Answer) ([]any, error) {
	resolved := make([]any, len(items))
	for i, item := range items {
		var err error
		if resolved[i], err = Resolve(item, answers); err != nil {
			return nil, err
		}
	}
	return resolved, nil
}

func lookup(f syntax.From, value any) (any, error) {
	for _, key := range f.Path {
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
			return nil, fmt.Errorf("%s: %s: the answer does not have %q there%s", f.Pos, f, key, syntax.Suggestion(key, syntax.SortedFields(fields)))
		}
	}
	return value, nil
}

// plain returns a copy of a resolved tree without marks: fields marked !absent are left out, !only becomes its mapping,
// !unordered its list, and !present, which only an expectation can have, a placeholder that equals no value.
func plain(tree any) any {
	switch t := tree.(type) {
	case map[string]any:
		fields := make(map[string]any, len(t))
		for name, field := range t {
			if _, gone := field.(syntax.Absent); !gone {
				fields[name] = plain(field)
			}
		}
		return fields
	case syntax.Only:
		return plain(t.Fields)
	case syntax.Unordered:
		return plain(t.Items)
	case syntax.Present:
		return placeholder(syntax.TagPresent)
	case []any:
		items := make([]any, 0, len(t))
		for _, item := range t {
			if _, gone := item.(syntax.Absent); !gone { // a parameter that a case leaves out
				items = append(items, plain(item))
			}
		}
		return items
	default:
		return tree
	}
}

// placeholder represents any value. Its type makes it differ from every string.
type placeholder string

// frames has the answers of a running scenario, by scope.
type frames map[*syntax.Scope]map[string]Answer

// answersOf returns the answers that a step of the scope sees.
func (f frames) answersOf(s *syntax.Scope) (map[string]Answer, error) {
	if answers, ok := f[s]; ok {
		return answers, nil
	}
	outer, err := f.answersOf(s.Outer)
	if err != nil {
		return nil, err
	}
	with, err := resolveFields(s.With, outer)
	if err != nil {
		return nil, err
	}
	f[s] = map[string]Answer{syntax.WithName: {Body: with}}
	return f[s], nil
}
