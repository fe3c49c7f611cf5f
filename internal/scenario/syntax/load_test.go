package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Which files of a folder are scenarios, which need not be, and which have to be.
func TestLoad(t *testing.T) {
	const (
		one      = "scenario: s\nsteps:\n- get: {path: /x}\n"
		manifest = "apiVersion: v1\nkind: K\n"
		uses     = "scenario: s\nsteps:\n- create: {file: m.yaml}\n"
		sets     = "scenario: s\nsetup:\n- file: m.yaml\nsteps:\n- get: {path: /x}\n"
	)
	tests := []struct {
		rule     string
		files    map[string]string
		patterns []string
		want     []string // FILE:LINE
		mistakes []string
	}{
		{"a folder stands for all below it, in order",
			map[string]string{"b.yaml": one, "a/z.yml": one, "a/b/c.yaml": one}, []string{"."},
			[]string{"a/b/c.yaml:1", "a/z.yml:1", "b.yaml:1"}, nil},
		{"a file may hold several",
			map[string]string{"a.yaml": "---\n" + one + "---\n# nothing\n---\n" + strings.Replace(one, ": s", ": t", 1)}, []string{"a.yaml"},
			[]string{"a.yaml:2", "a.yaml:8"}, nil},
		{"a file that is named may be called anything",
			map[string]string{"a.txt": one}, []string{"a.txt"},
			[]string{"a.txt:1"}, nil},
		{"a glob stands for what it matches",
			map[string]string{"a1.yaml": one, "a2/b.yaml": one, "b.yaml": one}, []string{"a*"},
			[]string{"a1.yaml:1", "a2/b.yaml:1"}, nil},
		{"a file that is found twice is played once",
			map[string]string{"a.yaml": one, "b.yaml": one}, []string{"b.yaml", ".", "./b.yaml"},
			[]string{"b.yaml:1", "a.yaml:1"}, nil},
		{"manifests that a scenario uses need not be one",
			map[string]string{"a.yaml": uses, "m.yaml": manifest}, []string{"."},
			[]string{"a.yaml:1"}, nil},
		{"a setup's file may hold several manifests",
			map[string]string{"a.yaml": sets, "m.yaml": manifest + "---\n" + manifest}, []string{"."},
			[]string{"a.yaml:1"}, nil},
		{"a file is an alias's like a manifest",
			map[string]string{"a.yaml": sets[:len(sets)-len("- get: {path: /x}\n")] + "- create: &m {file: m.yaml}\n- update: *m\n", "m.yaml": manifest}, []string{"."},
			[]string{"a.yaml:1"}, nil},
		{"a step's file may not",
			map[string]string{"a.yaml": uses, "m.yaml": manifest + "---\n" + manifest}, []string{"."},
			nil, []string{"a.yaml:3:11: a step takes one manifest, but the file has 2"}},
		{"YAML that no scenario uses is a mistake",
			map[string]string{"a.yaml": one, "m.yaml": manifest}, []string{"."},
			nil, []string{"m.yaml:1: this file does not contain a scenario, and no scenario uses it"}},
		{"but not where the scenario that might use it cannot be read",
			map[string]string{"a.yaml": "steps: [\n", "m.yaml": manifest}, []string{"."},
			nil, []string{"a.yaml:1: not YAML: did not find expected node content"}},
		{"so is an empty file",
			map[string]string{"a.yaml": "# nothing\n"}, []string{"."},
			nil, []string{"a.yaml:1: this file does not contain a scenario, and no scenario uses it"}},
		{"manifests alone are not scenarios",
			map[string]string{"a.yaml": uses, "m.yaml": manifest}, []string{"a.yaml", "m.yaml"},
			nil, []string{"m.yaml: no scenario found"}},
		{"a mistake in a manifest names the manifest's line, once",
			map[string]string{"a.yaml": uses, "b.yaml": uses, "m.yaml": "apiVersion: v1\nkind: K\nkind: K\n"}, []string{"a.yaml", "b.yaml"},
			nil, []string{`m.yaml:3:1: field "kind" is given twice, first on line 2`}},
		{"a manifest's file holds a manifest",
			map[string]string{"a.yaml": uses, "m.yaml": "# nothing\n"}, []string{"a.yaml"},
			nil, []string{"a.yaml:3:11: m.yaml does not contain a manifest"}},
		{"a manifest from a file may be changed, each time from the start",
			map[string]string{"a.yaml": "scenario: s\nsteps:\n- create: {file: m.yaml, set: {a.b: 1, kind: L, metadata.name: !absent }}\n- create: {file: m.yaml}\n", "m.yaml": manifest}, []string{"a.yaml"},
			[]string{"a.yaml:1"}, nil},
		{"but only where there is a place",
			map[string]string{"a.yaml": "scenario: s\nsteps:\n- create: {file: m.yaml, set: {kind.b: 1}}\n", "m.yaml": manifest}, []string{"a.yaml"},
			nil, []string{"a.yaml:3:32: the manifest does not have the path kind.b"}},
		{"an empty folder is a mistake",
			map[string]string{"a.yaml": one, "d/README": "x"}, []string{"a.yaml", "d"},
			nil, []string{"d: no scenario found"}},
		{"a path that is not there is a mistake",
			map[string]string{"a.yaml": one}, []string{"a.yaml", "b.yaml", "c*"},
			nil, []string{"b.yaml: no such file or folder", "c*: no such file or folder"}},
		{"a glob has to be one",
			nil, []string{"[a"},
			nil, []string{"[a: syntax error in pattern"}},
		{"no path is a mistake",
			nil, nil,
			nil, []string{"no scenario found: no path was given"}},
		{"mistakes of all files are reported",
			map[string]string{"a.yaml": "steps: 1\n", "b.yaml": "a: b: c\n", "c.yaml": one}, []string{"."},
			nil, []string{
				"a.yaml:1:8: steps takes a list",
				"b.yaml:1: not YAML: mapping values are not allowed in this context"}},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for path, text := range test.files {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			loaded, err := Load(test.patterns...)
			var got, mistakes []string
			for _, s := range loaded {
				got = append(got, s.Position.String())
			}
			if err != nil {
				mistakes = strings.Split(err.Error(), "\n")
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("scenarios (-want +got):\n%s", d)
			}
			if d := cmp.Diff(test.mistakes, mistakes); d != "" {
				t.Errorf("mistakes (-want +got):\n%s", d)
			}
		})
	}
}
