package player

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The difference is YAML, with the lines near it and the fields around it.
func TestDiff(t *testing.T) {
	const lines = "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\ng: 7\nh: 8\n"
	for _, test := range []struct{ rule, want, got, diff string }{
		{"what matches has none", `{a: 1}`, `{a: 1, b: 2}`, ""},
		{"a value", `ok`, `"ill: yes"`, `
- ok
+ 'ill: yes'
`},
		{"a text and a number", `"1"`, `1`, `
- "1"
+ 1
`},
		{"a field of an object", `{spec: {replicas: 3, paused: false}}`, `{spec: {replicas: 1, paused: false, other: x}}`, `
  spec:
    paused: false
-   replicas: 3
+   replicas: 1
`},
		{"a field that is missing, and one too many", `{spec: !only {a: {b: 1}}, status: !present }`, `{spec: {c: [x, {z: w}]}}`, `
  spec:
-   a:
-     b: 1
+   c:
+   - x
+   - z: w
- status: !present
`},
		{"none of the fields", `{data: {n: 1}}`, `{data: {m: 1}}`, `
  data:
-   n: 1
`},
		{"an empty mapping and list", `!only {a: {}, b: [], c: {d: 1}}`, `{a: {x: 1}, b: [1], c: {d: 1}}`, `
  a: {}
- b: []
+ b:
+ - 1
  c:
    d: 1
`},
		{"a mapping in place of a list", `{a: [1]}`, `{a: {b: 1}}`, `
- a:
- - 1
+ a:
+   b: 1
`},
		{"fields far from it are left out", `{a: 1, b: 1, c: 1, d: {e: 1}, f: 1, g: 1, h: 1, i: 1, j: 1}`, `{a: 1, b: 1, c: 1, d: {e: 2}, f: 1, g: 1, h: 1, i: 1, j: 1}`, `
  # … 2 lines match
  c: 1
  d:
-   e: 1
+   e: 2
  f: 1
  g: 1
  # … 3 lines match
`},
		{"a condition says which it is", `{status: {conditions: [{type: Ready, status: "True", reason: Up}, {type: Scheduled, status: "True"}]}}`,
			`{status: {conditions: [{type: Ready, status: "False", reason: Down}, {type: Scheduled, status: "True"}]}}`, `
  status:
    conditions:
    - type: Ready
-     reason: Up
+     reason: Down
-     status: "True"
+     status: "False"
    - type: Scheduled
      status: "True"
`},
		{"the fields around it are shown", `{spec: {containers: [{name: web, env: [{name: A, value: a}, {name: B, value: b}, {name: C, value: c}, {name: D, value: d}]}]}}`,
			`{spec: {containers: [{name: web, env: [{name: A, value: a}, {name: B, value: b}, {name: C, value: c}, {name: D, value: e}]}]}}`, `
  spec:
    containers:
    - name: web
      env:
      # … 4 lines match
      - name: C
        value: c
      - name: D
-       value: d
+       value: e
`},
		{"an item that is missing", `[{name: a}, {name: b}, {name: c}]`, `[{name: a}, {name: c}]`, `
  - name: a
- - name: b
  - name: c
`},
		{"an item too many, and one that differs", `[{name: a, x: 1}, {name: b}]`, `[{name: a, x: 2}, {name: b}, {name: c}]`, `
  - name: a
-   x: 1
+   x: 2
  - name: b
+ - name: c
`},
		{"items without a field in common", `[{a: 1}]`, `[{a: 2}]`, `
- - a: 1
+ - a: 2
`},
		{"items in any order", `!unordered [{name: c}, {name: d, x: 1}, {name: a}]`, `[{name: a}, {name: b}, {name: c}]`, `
  - name: c
- - name: d
-   x: 1
+ - name: b
  - name: a
`},
		{"fewer items in any order", `!unordered [1, 2]`, `[2]`, `
- - 1
  - 2
`},
		{"rows of a table", `[[NAME, AGE], [a, 5s]]`, `[[NAME, AGE], [a, 6s], ["b,c", null]]`, `
  - [NAME, AGE]
- - [a, 5s]
+ - [a, 6s]
+ - ["b,c", null]
`},
		{"a text of many lines", `{data: {x: "` + strings.ReplaceAll(lines, "\n", `\n`) + `"}}`, `{data: {x: "` + strings.ReplaceAll(strings.Replace(lines, "d: 4", "d: 5", 1), "\n", `\n`) + `"}}`, `
  data:
    x: |
      a: 1
      b: 2
      c: 3
-     d: 4
+     d: 5
      e: 5
      f: 6
      # … 2 lines match
`},
		{"a text of many lines in a list", `["a\nb"]`, `["a\nc"]`, `
- - "a\nb"
+ - "a\nc"
`},
		{"a long message", `{message: "` + strings.Repeat("a word, ", 20) + `"}`, `{message: x}`, `
- message: '` + strings.Repeat("a word, ", 20) + `'
+ message: x
`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got := Diff(expected(t, test.want), expected(t, test.got))
			if d := cmp.Diff(strings.TrimPrefix(test.diff, "\n"), got); d != "" {
				t.Errorf("(-want +got):\n%s\nit is\n%s", d, got)
			}
		})
	}
}
