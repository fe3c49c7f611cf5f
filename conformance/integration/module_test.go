package integration

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestOnlyModulesOfCheckoutsThatAreGoneAreRemoved(t *testing.T) {
	cache, checkout := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"kubernetes-here": checkout,
		"kubernetes-gone": filepath.Join(checkout, "gone"),
		"kubernetes-new":  "",
		"upstream-gone":   filepath.Join(checkout, "gone"),
	} {
		dir := filepath.Join(cache, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, checkoutFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeOrphans(filepath.Join(cache, "kubernetes-*")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if want := []string{"kubernetes-here", "kubernetes-new", "upstream-gone"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}

func TestPartsOfARepositoryAreCopiedTogether(t *testing.T) {
	main, part, into := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{main, part} {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(dir), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := copyModules(module{Path: "example.com/operator/v2", Version: "v1.2.3", Dir: main}, map[string]module{"api": {Dir: part}}, into)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(into, "operator@v1.2.3"); dir != want {
		t.Errorf("the copy is %s, want %s", dir, want)
	}
	for file, want := range map[string]string{"go.mod": main, "api/go.mod": part} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); string(got) != want {
			t.Errorf("%s: %s, %v", file, got, err)
		}
	}
}
