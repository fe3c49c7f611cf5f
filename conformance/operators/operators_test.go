package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// A folder that is chosen brings its lines of the list with it, and no others.
func TestOnlyLinesOfChosenFoldersAreCompared(t *testing.T) {
	match := matches(regexp.MustCompile("cluster-api/core/"))
	for result, want := range map[string]bool{
		operators[0].name("core/webhooks") + ": TestA":         true,
		operators[0].name("core/reconcilers") + ": TestA/b: c": true,
		operators[0].name("util/patch") + ": TestA":            false,
		"other/util: TestA/cluster-api/core/":                  false,
	} {
		if match(result) != want {
			t.Errorf("%s: %t", result, !want)
		}
	}
}

// What is borrowed is of the version that the operator's go.mod names, here one in a folder beside it.
func TestFoldersAreBorrowedOfRequiredModules(t *testing.T) {
	module, lender := t.TempDir(), t.TempDir()
	for file, content := range map[string]string{
		filepath.Join(module, "go.mod"): "module example.com/operator\n\ngo 1.26\n\nrequire example.com/lender v1.0.0\n\n" +
			"replace example.com/lender => " + lender + "\n",
		filepath.Join(lender, "go.mod"):           "module example.com/lender\n\ngo 1.26\n",
		filepath.Join(lender, "crds", "crd.yaml"): "kind: CustomResourceDefinition\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := borrowed{"config/external", "example.com/lender", "crds"}
	for range 2 { // the second time it is there
		if err := b.copy(t.Context(), module); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join(module, "config", "external", "crd.yaml"))
	if want := "kind: CustomResourceDefinition\n"; err != nil || string(got) != want {
		t.Errorf("borrowed is %q (%v), want %q", got, err, want)
	}
	if entries, err := os.ReadDir(filepath.Join(module, "config")); err != nil || len(entries) != 1 {
		t.Errorf("beside it stand %v (%v)", entries, err)
	}
}
