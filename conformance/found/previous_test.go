package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAModuleIsCopiedWithItsImports(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for name, text := range map[string]string{
		"go.mod":     "module example.com/a\n",
		"a.go":       "package a\n\nimport (\n\t\"example.com/a/b\"\n\t\"example.com/ab\"\n)\n",
		"a_test.go":  "package a\n",
		"b/b.go":     "package b\n",
		"b/crd.yaml": "# example.com/a/b\n",
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
		"a.go":       "package a\n\nimport (\n\t\"example.com/ab\"\n\t\"example.com/copies/a/b\"\n)\n",
		"b/b.go":     "package b\n",
		"b/crd.yaml": "# example.com/a/b\n",
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

// The report of an upgrade names the version that is copied.
func TestUpgradesNameThePreviousVersion(t *testing.T) {
	for _, m := range previous {
		text, err := os.ReadFile(filepath.Join("..", modules, m.folder, "upgrade_test.go"))
		if want := fmt.Sprintf("%q, %q", m.module, m.version); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("the test of the upgrade of %s does not name %s: %v", m.folder, want, err)
		}
	}
}
