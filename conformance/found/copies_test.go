package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAModuleIsCopiedWithItsImports(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for name, text := range map[string]string{
		"go.mod":            "module example.com/a\n",
		"a.go":              "package a\n\nimport (\n\t\"example.com/a/b\"\n\t\"example.com/a/internal\"\n\t\"example.com/ab\"\n)\n",
		"a_test.go":         "package a\n",
		"b/b.go":            "package b\n\nimport _ \"example.com/a/b/internal/c\"\n",
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
		"b/b.go":           "package b\n\nimport _ \"example.com/copies/a/b/visible/c\"\n",
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

// What a test imports is copied, and what is copied is imported.
func TestTestsImportTheCopies(t *testing.T) {
	for _, m := range copied {
		path := copiedPath + m.folder + "-" + m.version + "/"
		files, err := filepath.Glob(filepath.Join("..", modules, m.folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		imported := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			imported = imported || strings.Contains(string(text), `"`+path)
		}
		if !imported {
			t.Errorf("no test of %s imports a package of %s", m.folder, path)
		}
	}
}
