package living

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Mistake is a mistake in data, with its position in the YAML.
type Mistake struct {
	Line, Column int
	Text         string
}

// maxNodes limits the values of a YAML document, including those that aliases repeat.
const maxNodes = 100_000

// strict decodes YAML to Go values. It continues after a mistake, so that it finds all of them.
type strict struct {
	mistakes []Mistake
	nodes    int
}

func (s *strict) mistake(n *yaml.Node, format string, args ...any) {
	s.mistakes = append(s.mistakes, Mistake{n.Line, n.Column, fmt.Sprintf(format, args...)})
}

// read decodes a node to a pointer, as encoding/json would. Unknown and repeated fields are mistakes.
func (s *strict) read(n *yaml.Node, into any) {
	before := len(s.mistakes)
	value := s.value(n, reflect.TypeOf(into).Elem())
	if len(s.mistakes) > before {
		return
	}
	if err := unmarshal(value, into); err != nil {
		s.mistake(n, "%v", err)
	}
}

func unmarshal(value, into any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// value returns a node as a JSON value, and reports what does not fit the type t.
func (s *strict) value(n *yaml.Node, t reflect.Type) any {
	if s.nodes++; s.nodes > maxNodes {
		if s.nodes == maxNodes+1 {
			s.mistake(n, "there are more than %d values", maxNodes)
		}
		return nil
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if t == reflect.TypeFor[Behavior]() {
		t = reflect.TypeFor[behaviorData]()
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if tag := n.ShortTag(); !strings.HasPrefix(tag, "!!") {
		s.mistake(n, "the mark %s cannot be used here", tag)
		return nil
	}
	switch kind := t.Kind(); {
	case t != reflect.TypeFor[behaviorData]() && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return s.leaf(n, t)
	case kind == reflect.Struct:
		return s.fields(n, t)
	case kind == reflect.Map:
		if n.Kind != yaml.MappingNode {
			s.mistake(n, "this must be a mapping")
			return nil
		}
		values := map[string]any{}
		s.each(n, func(key, value *yaml.Node) { values[key.Value] = s.value(value, t.Elem()) })
		return values
	case kind == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		if n.Kind != yaml.SequenceNode {
			s.mistake(n, "this must be a list")
			return nil
		}
		items := []any{}
		for _, item := range n.Content {
			items = append(items, s.value(item, t.Elem()))
		}
		return items
	}
	return s.leaf(n, t)
}

// each calls f for the entries of a mapping.
func (s *strict) each(n *yaml.Node, f func(key, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if line, twice := seen[key.Value]; twice {
			s.mistake(key, "%s is given twice, first on line %d", key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		f(key, n.Content[i+1])
	}
}

func (s *strict) fields(n *yaml.Node, t reflect.Type) any {
	if n.Kind != yaml.MappingNode {
		s.mistake(n, "this must be a mapping with some of %s", strings.Join(names(t), ", "))
		return nil
	}
	types := map[string]reflect.Type{}
	fieldsOf(t, types)
	values := map[string]any{}
	s.each(n, func(key, value *yaml.Node) {
		if types[key.Value] == nil {
			s.mistake(key, "unknown field %q (allowed: %s)", key.Value, strings.Join(names(t), ", "))
			return
		}
		values[key.Value] = s.value(value, types[key.Value])
	})
	return values
}

// fieldsOf collects the types of the fields of a struct, by their names in JSON.
func fieldsOf(t reflect.Type, types map[string]reflect.Type) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-":
		case name == "" && field.Anonymous && inner.Kind() == reflect.Struct:
			fieldsOf(inner, types)
		case name != "":
			types[name] = field.Type
		}
	}
}

// names returns the names of the fields of a struct.
func names(t reflect.Type) []string {
	types := map[string]reflect.Type{}
	fieldsOf(t, types)
	return slices.Sorted(maps.Keys(types))
}

// BehaviorFields returns the names of the fields of behaviors, in alphabetical order.
func BehaviorFields() []string { return names(reflect.TypeFor[behaviorData]()) }

// leaf returns the value of a node for a type that encoding/json decodes as a whole.
func (s *strict) leaf(n *yaml.Node, t reflect.Type) any {
	value, err := plain(n)
	if err != nil {
		s.mistake(n, "%v", err)
		return nil
	}
	if err := unmarshal(value, reflect.New(t).Interface()); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			s.mistake(n, "this must be a %s, not a %s", kindOf(wrong.Type), wrong.Value)
		} else {
			s.mistake(n, "%v", err)
		}
		return nil
	}
	return value
}

// kindOf returns the JSON type of a Go type, for messages.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean (true or false)"
	case reflect.String:
		return "string"
	case reflect.Float64, reflect.Float32:
		return "number"
	}
	return "whole number"
}

// plain returns a node as a JSON value.
func plain(n *yaml.Node) (any, error) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp" {
		return n.Value, nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := json.Marshal(value); err != nil {
		return nil, fmt.Errorf("this cannot be written as JSON: %w", err)
	}
	return value, nil
}
