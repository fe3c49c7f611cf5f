package integration

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestOnlyModulesOfCheckoutsThatAreGoneAreRemoved(t *testing.T) {
	cache, checkout := t.TempDir(), t.TempDir()
	for name, of := range map[string]string{
		"kubernetes-here": checkout,
		"kubernetes-gone": filepath.Join(checkout, "gone"),
		"kubernetes-new":  "",
		"upstream-gone":   filepath.Join(checkout, "gone"),
	} {
		dir := filepath.Join(cache, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if of == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, checkoutFile), []byte(of), 0o644); err != nil {
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
