package schema_test

import (
	"reflect"
	"testing"

	"github.com/fakecluster/fakecluster/internal/schema"
	"github.com/fakecluster/fakecluster/internal/testing/schematest"
)

func TestANodeSummarizesTheNodesBelow(t *testing.T) {
	for text, want := range map[string][3]bool{ // defaults, embedded resources, lists
		`{type: object, properties: {a: {type: object, properties: {b: {type: string}}}}}`:                                                    {},
		`{type: object, additionalProperties: {type: object, properties: {a: {type: string, default: x}}}}`:                                   {true, false, false},
		`{type: object, properties: {a: {type: array, items: {type: object, x-kubernetes-embedded-resource: true}}}}`:                         {false, true, false},
		`{type: object, additionalProperties: {type: array, x-kubernetes-list-type: set, items: {type: string}}}`:                             {false, false, true},
		`{type: object, properties: {a: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}}}`:                               {},
		`{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object}}}}`: {false, false, true},
	} {
		n := schematest.NewSchema(t, propsOf(t, text)).Node
		if got := [3]bool{n.HasDefaults(), n.HasEmbedded(), n.HasLists()}; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// Definitions use these keywords most: the walk must decide about their objects itself.
func TestValuesAreEvaluatedAsUpstreamDoes(t *testing.T) {
	const (
		accepted = iota
		refused
		left // to upstream
	)
	for _, c := range []struct {
		rule, schema string
		values       map[any]int
	}{
		{"a time", `{type: string, format: date-time}`, map[any]int{"2026-01-02T03:04:05Z": accepted, "2026-01-31T03:04:05.123+01:00": accepted, "2026-02-30T03:04:05Z": refused, "": refused}},
		{"formats of the registry", `{type: string, format: ipv4}`, map[any]int{"1.2.3.4": accepted, "x": refused}},
		{"an unknown format", `{type: string, format: port}`, map[any]int{"x": accepted, int64(1): refused}},
		{"a supported format is a part of the type", `{type: string, format: date}`, map[any]int{"2026-01-02": accepted, int64(1): left}},
		{"small integers", `{type: integer, format: int32}`, map[any]int{int64(1 << 30): accepted, int64(1 << 31): refused, "1": left}},
		{"integers", `{type: integer, format: int64, minimum: 1}`, map[any]int{int64(1): accepted, int64(0): refused, 1.0: left, 1.5: refused}},
		{"integers or strings", `{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: "^[0-9]+%?$"}`,
			map[any]int{int64(1): accepted, "1%": accepted, "x": refused, true: refused}},
		{"exclusive limits", `{type: number, minimum: 0, exclusiveMinimum: true, maximum: 2.5}`, map[any]int{0.5: accepted, 0.0: refused, 2.5: accepted, 2.6: refused, int64(0): refused}},
		{"multiples", `{type: integer, multipleOf: 3}`, map[any]int{int64(6): accepted, int64(7): refused}},
		{"one of several numbers", `{type: integer, enum: [1, 2]}`, map[any]int{int64(1): accepted, int64(3): left}},
		{"one of several strings", `{type: string, enum: [a, b]}`, map[any]int{"a": accepted, "c": refused}},
		{"null", `{type: string, nullable: true}`, map[any]int{nil: accepted}},
		{"no null", `{type: string}`, map[any]int{nil: refused}},
		{"runes are counted", `{type: string, maxLength: 2}`, map[any]int{"äö": accepted, "abc": refused}},
		{"not", `{type: string, not: {enum: [a]}}`, map[any]int{"b": accepted, "a": refused}},
		{"all", `{type: string, allOf: [{pattern: a}, {pattern: b}]}`, map[any]int{"ab": accepted, "a": refused}},
	} {
		n := schematest.NewSchema(t, propsOf(t, `{type: object, properties: {v: `+c.schema+`}}`)).Node
		for value, want := range c.values {
			obj, got := map[string]any{"v": value}, left
			switch {
			case n.Inspect(obj, schema.Valid).Has(schema.Valid):
				got = accepted
			case n.IsInvalid(obj):
				got = refused
			}
			if got != want {
				t.Errorf("%s: %v is %d, want %d", c.rule, value, got, want)
			}
		}
	}
}

func TestAlternativesOfRequiredFields(t *testing.T) {
	n := schematest.NewSchema(t, propsOf(t, `
type: object
properties: {a: {type: string}, b: {type: string}, c: {type: string}}
oneOf:
- not: {anyOf: [{required: [a]}, {required: [b]}]}
- required: [a]
- required: [b]
`)).Node
	for _, c := range []struct {
		fields []string
		valid  bool
	}{{nil, true}, {[]string{"a"}, true}, {[]string{"b", "c"}, true}, {[]string{"a", "b"}, false}} {
		obj := map[string]any{}
		for _, name := range c.fields {
			obj[name] = "x"
		}
		if got := n.Inspect(obj, schema.Valid).Has(schema.Valid); got != c.valid || n.IsInvalid(obj) == c.valid {
			t.Errorf("%v: found valid: %v", c.fields, got)
		}
	}
}

func TestNormalizeReportsWhatItDropsAndFillsIn(t *testing.T) {
	n := schematest.NewSchema(t, propsOf(t, `
type: object
properties:
  a: {type: object, properties: {b: {type: string, default: x}, c: {type: string}}}
  l: {type: array, items: {type: object, properties: {d: {type: integer}}}}
`)).Node
	obj := map[string]any{
		"apiVersion": "a/v1", "metadata": map[string]any{"any": "x"}, "e": int64(1),
		"a": map[string]any{"c": nil, "f": "x"}, "l": []any{map[string]any{"d": int64(1), "g": "x"}},
	}
	found := n.Normalize(obj, schema.Walk{Do: schema.Prune | schema.DropNulls | schema.Default, Check: schema.All, TrackUnknown: true})
	if want := []string{"a.f", "e", "l[0].g"}; !found.Changed || !reflect.DeepEqual(found.Unknown, want) || !found.Has(schema.All) {
		t.Errorf("found %+v", found)
	}
	if want := map[string]any{
		"apiVersion": "a/v1", "metadata": map[string]any{"any": "x"}, "a": map[string]any{"b": "x"}, "l": []any{map[string]any{"d": int64(1)}},
	}; !reflect.DeepEqual(obj, want) {
		t.Errorf("the object is %v", obj)
	}
	if again := n.Normalize(obj, schema.Walk{Do: schema.Prune | schema.DropNulls | schema.Default, TrackUnknown: true}); again.Changed || again.Unknown != nil {
		t.Errorf("once more: %+v", again)
	}
}
