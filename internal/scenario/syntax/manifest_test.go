package syntax

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What "set" makes of a manifest from a file.
func TestSet(t *testing.T) {
	const manifest = `{kind: K, list: [{a: 1}, {a: 2}], map: {x: 1}, none: null}`
	tests := []struct {
		rule, set, want string
		mistakes        []string
	}{
		{"a field is replaced", `{map.x: 2}`, `{kind: K, list: [{a: 1}, {a: 2}], map: {x: 2}, none: null}`, nil},
		{"or added", `{map.y: {z: 2}}`, `{kind: K, list: [{a: 1}, {a: 2}], map: {x: 1, y: {z: 2}}, none: null}`, nil},
		{"with the mappings on the way", `{new.y.z: 2, none.y: 3}`, `{kind: K, list: [{a: 1}, {a: 2}], map: {x: 1}, new: {y: {z: 2}}, none: {y: 3}}`, nil},
		{"an item of a list is counted from 0", `{list.1.a: 3, list.0: 4}`, `{kind: K, list: [4, {a: 3}], map: {x: 1}, none: null}`, nil},
		{"changes are made in order", `{map: {y: 1}, map.z: 2}`, `{kind: K, list: [{a: 1}, {a: 2}], map: {y: 1, z: 2}, none: null}`, nil},
		{"there is no way past the end of a list", `{list.2: 1}`, manifest, []string{"tree:1:8: the manifest does not have the path list.2"}},
		{"nor through a list by name", `{list.a.b: 1}`, manifest, []string{"tree:1:8: the manifest does not have the path list.a.b"}},
		{"nor through a value", `{kind.x: 1}`, manifest, []string{"tree:1:8: the manifest does not have the path kind.x"}},
		{"set takes a mapping", `[]`, manifest, []string{"tree:1:7: set takes a mapping of paths to values"}},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			got := yamlTree(t, manifest).(map[string]any)
			p := &parser{file: "tree"}
			p.set(p.Documents([]byte("tree: " + test.set))[0].Content[1], got)
			var mistakes []string
			for _, mistake := range p.mistakes {
				mistakes = append(mistakes, mistake.Error())
			}
			if d := cmp.Diff(test.mistakes, mistakes); d != "" {
				t.Errorf("mistakes (-want +got):\n%s", d)
			}
			if d := cmp.Diff(yamlTree(t, test.want), any(got)); d != "" {
				t.Errorf("manifest (-want +got):\n%s", d)
			}
		})
	}
}

func yamlTree(t *testing.T, text string) any {
	t.Helper()
	p := &parser{file: "tree"}
	roots := p.Documents([]byte("tree: " + text))
	if len(p.mistakes) > 0 {
		t.Fatal(errors.Join(p.mistakes...))
	}
	tree := p.tree(roots[0].Content[1], expectationMarks)
	if len(p.mistakes) > 0 {
		t.Fatal(errors.Join(p.mistakes...))
	}
	return tree
}
