package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAModuleIsCopiedWithItsImports(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for name, text := range map[string]string{
		"go.mod":            "module example.com/a\n",
		"a.go":              "package a\n\nimport (\n\t\"example.com/a/b\"\n\t\"example.com/a/internal\"\n\t\"example.com/ab\"\n)\n",
		"a_test.go":         "package a\n",
		"b/b.go":            "package b\n\nimport _ \"example.com/a/b/internal/c\"\n\nconst label = \"example.com/a/internal\"\n",
		"internal/i.go":     "package internal\n",
		"b/internal/c/c.go": "package c\n",
		"b/crd.yaml":        "# example.com/a/b\n",
	} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyModule(from, to, "example.com/a", "example.com/copies/a"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a.go":             "package a\n\nimport (\n\t\"example.com/ab\"\n\t\"example.com/copies/a/b\"\n\t\"example.com/copies/a/visible\"\n)\n",
		"b/b.go":           "package b\n\nimport _ \"example.com/copies/a/b/visible/c\"\n\nconst label = \"example.com/a/internal\"\n",
		"visible/i.go":     "package internal\n",
		"b/visible/c/c.go": "package c\n",
		"b/crd.yaml":       "# example.com/a/b\n",
	} {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"go.mod", "a_test.go"} {
		if _, err := os.Stat(filepath.Join(to, name)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the tests import is copied, and what is copied is imported.
func TestTestsImportTheCopies(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", modules, "*", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	imported := map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if below, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), copiedPath); ok {
				folder, _, _ := strings.Cut(below, "/")
				imported[filepath.Base(filepath.Dir(path))+": "+folder] = true
			}
		}
	}
	want := map[string]bool{}
	for _, m := range copied {
		want[m.folder+": "+m.folder+"-"+m.version] = true
	}
	if diff := cmp.Diff(want, imported); diff != "" {
		t.Errorf("(-copied +imported)\n%s", diff)
	}
}
