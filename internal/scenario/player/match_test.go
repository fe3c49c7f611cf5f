package player

import (
	"testing"
)

// What an expectation accepts, and what it does not: each case is a rule and the two
// sides of it.
func TestExpectations(t *testing.T) {
	tests := []struct {
		rule, want string
		accepts    []string
		refuses    []string
	}{
		{"a value equals itself", `1`, []string{`1`, `1.0`}, []string{`2`, `"1"`, `1.5`, `null`, `true`, `[1]`, `{}`}},
		{"a fraction is a number too", `1.5`, []string{`1.5`}, []string{`1`, `2`}},
		{"a string is not a number", `"1"`, []string{`"1"`}, []string{`1`, `"2"`}},
		{"null is a value", `{a: null}`, []string{`{a: null}`}, []string{`{}`, `{a: 0}`, `{a: ""}`}},
		{"a mapping is a subset", `{a: 1, b: {c: 2}}`,
			[]string{`{a: 1, b: {c: 2}}`, `{a: 1, b: {c: 2, d: 3}, e: 4}`},
			[]string{`{a: 1}`, `{a: 1, b: {}}`, `{a: 1, b: {c: 3}}`, `{a: 1, b: 2}`, `{a: 1, b: null}`, `[]`}},
		{"an empty mapping accepts any", `{}`, []string{`{}`, `{a: 1}`}, []string{`[]`, `null`, `1`}},
		{"a list is whole", `[1, 2]`, []string{`[1, 2]`}, []string{`[1]`, `[1, 2, 3]`, `[2, 1]`, `[]`, `{}`, `1`}},
		{"an empty list is empty", `[]`, []string{`[]`}, []string{`[1]`, `null`, `{}`}},
		{"items are as expected, not equal", `[{a: 1}, {}]`, []string{`[{a: 1, b: 2}, {c: 3}]`}, []string{`[{b: 2}, {c: 3}]`}},
		{"an absent field is not there", `{a: !absent , b: 1}`, []string{`{b: 1}`}, []string{`{a: 1, b: 1}`, `{a: null, b: 1}`, `{}`}},
		{"nor is it where its mapping is not", `{a: {b: !absent }}`, []string{`{a: {}}`}, []string{`{}`, `{a: {b: 1}}`}},
		{"a present field is there", `{a: !present }`, []string{`{a: 1}`, `{a: null}`, `{a: {b: []}}`}, []string{`{}`, `{b: 1}`}},
		{"no string passes for a mark", `{a: {b: !present }}`, []string{`{a: {b: x}}`}, []string{`{a: "!present"}`}},
		{"only these fields", `!only {a: 1}`, []string{`{a: 1}`}, []string{`{a: 1, b: 2}`, `{}`, `{a: 2}`, `[]`}},
		{"only binds the one mapping", `!only {a: {b: 1}}`, []string{`{a: {b: 1, c: 2}}`}, []string{`{a: {b: 1}, c: 2}`}},
		{"only, and one that may be anything", `!only {a: !present }`, []string{`{a: 1}`}, []string{`{a: 1, b: 2}`, `{}`}},
		{"only in a list", `[!only {a: 1}]`, []string{`[{a: 1}]`}, []string{`[{a: 1, b: 2}]`, `[]`}},
		{"only, where it is missing", `{x: !only {a: !absent }}`, []string{`{x: {}}`}, []string{`{}`, `{x: {a: 1}}`}},
		{"in any order", `!unordered [1, {a: 1}]`, []string{`[1, {a: 1}]`, `[{a: 1, b: 2}, 1]`},
			[]string{`[1]`, `[1, {a: 1}, 2]`, `[1, 1]`, `[1, {a: 2}]`, `{}`, `1`}},
		{"in any order, where one item is as many", `!unordered [{}, {a: 1}, {b: 1}]`, []string{`[{a: 1, b: 1}, {b: 1}, {c: 1}]`, `[{b: 1}, {c: 1}, {a: 1}]`},
			[]string{`[{a: 1}, {c: 1}, {d: 1}]`, `[{b: 1}, {c: 1}, {d: 1}]`}},
		{"in any order, none", `!unordered []`, []string{`[]`}, []string{`[1]`, `null`}},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			want := expected(t, test.want)
			for _, got := range test.accepts {
				if d := Diff(want, expected(t, got)); d != "" {
					t.Errorf("%s refuses %s (-want +got):\n%s", test.want, got, d)
				}
			}
			for _, got := range test.refuses {
				if Diff(want, expected(t, got)) == "" {
					t.Errorf("%s accepts %s", test.want, got)
				}
			}
		})
	}
}

// expected reads what a scenario expects.
func expected(t *testing.T, text string) any {
	t.Helper()
	s := oneScenario(t, "- get: {path: /x}\n  expect:\n    tree: "+text+"\n")
	return s.Steps[0].Want.(map[string]any)["tree"]
}

func TestShortenedTextsEndWithAWholeCharacter(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aäb", 2, "a…"}, {"aäb", 3, "aä…"}} {
		if got := shortened(test.text, test.limit); got != test.want {
			t.Errorf("%q in %d bytes: %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}
