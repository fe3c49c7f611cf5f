package manifests

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"crd/bases", "other", "empty"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"crd/z.yaml", "crd/bases/a.yaml", "other/b.yaml"} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": "crd", "twice": "link", "crd/other": "../other", "file": "crd/z.yaml", "nowhere": "gone"} {
		if err := os.Symlink(target, name); err != nil {
			t.Skip(err)
		}
	}
	for _, tt := range []struct {
		path string
		want []string
	}{
		{"crd", []string{"crd/bases/a.yaml", "crd/other", "crd/z.yaml"}},
		{"./crd/", []string{"crd/bases/a.yaml", "crd/other", "crd/z.yaml"}},
		{"link", []string{"link/bases/a.yaml", "link/other", "link/z.yaml"}},
		{"twice", []string{"twice/bases/a.yaml", "twice/other", "twice/z.yaml"}},
		{"crd/z.yaml", []string{"crd/z.yaml"}},
		{"file", []string{"file"}},
		{"empty", nil},
	} {
		for i, path := range tt.want {
			tt.want[i] = filepath.FromSlash(path)
		}
		if got, err := Files(tt.path); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v, want %q", tt.path, got, err, tt.want)
		}
	}
	for _, path := range []string{"gone", "nowhere", "crd/z.yaml/a"} {
		if got, err := Files(path); err == nil {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// A folder of kustomize has files that are not manifests.
func TestManifestsAreNotPatchesOfKustomize(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: patches/b.yaml}, {patch: inline}]\npatchesStrategicMerge: [c.yaml]\nconfigurations: [d.yaml]\nreplacements: [{path: e.yaml}]\n",
		"a.yaml":             "", "patches/b.yaml": "", "patches/z.yaml": "", "c.yaml": "", "d.yaml": "", "e.yaml": "",
		"other/kustomization.yml": "not: [a", "other/c.yaml": "",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Find(folder)
	var want []string
	for _, name := range []string{"a.yaml", "other/c.yaml", "patches/z.yaml"} {
		want = append(want, filepath.Join(folder, name))
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("b", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"c.yaml", "a.json", "b/d.yml", "README.md", "kustomization.yaml", "b/kustomization.yml"} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		".":                  {"a.json", filepath.Join("b", "d.yml"), "c.yaml"},
		"README.md":          {"README.md"}, // a file that is named is always read
		"kustomization.yaml": {"kustomization.yaml"},
	} {
		if got, err := Find(path); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", path, got, err, want)
		}
	}
}
