package manifests

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// written writes files into a folder, and returns it.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestEachVisitsTheObjectsOfAFolder(t *testing.T) {
	folder := written(t, map[string]string{
		"b.yaml":     "# a comment\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\nvalues: of another program\n",
		"a.json":     `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a1"}},{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod","metadata":{"name":"a2"}}]}]}`,
		"README.md":  "kind: none",
		"empty.yaml": "",
	})
	var got []string
	err := Each("path", folder, func(m Manifest) error {
		items, err := m.Unfold()
		for _, item := range items {
			got = append(got, item.Kind+" "+item.Name)
		}
		return err
	})
	if diff := cmp.Diff([]string{"Secret a1", "Pod a2", "ConfigMap b"}, got); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

func TestMistakesInManifests(t *testing.T) {
	folder := written(t, map[string]string{
		"list.yaml": "[1, 2]", "other.yaml": "a: b", "broken.yaml": "kind: A\n---\nkind: [", "object.yaml": "kind: A", "secret.yaml": "kind: Secret\nstringData: {password: hunter2, a: {",
	})
	if err := os.Mkdir(filepath.Join(folder, "nothing"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"list.yaml":   "FOLDER/list.yaml: document 1: not an object: it is not a mapping",
		"other.yaml":  "FOLDER/other.yaml: document 1: not an object: it needs apiVersion and kind",
		"broken.yaml": "FOLDER/broken.yaml: document 2: ",
		"object.yaml": "FOLDER/object.yaml: document 1: refused",
		"nothing":     "path FOLDER/nothing: there is no manifest in it",
		"gone.yaml":   "path: stat FOLDER/gone.yaml: no such file or directory",
	} {
		err := Each("path", filepath.Join(folder, name), func(Manifest) error { return errors.New("refused") })
		if err == nil || !strings.HasPrefix(err.Error(), strings.ReplaceAll(want, "FOLDER", folder)) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := Read(filepath.Join(folder, "secret.yaml")); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error has the value of a Secret: %v", err)
	}
}

// Whatever the order of the files, what others need is installed first, and what admits writes last.
func TestTheOrderOfInstalling(t *testing.T) {
	want := []schema.GroupKind{
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, {Kind: "Namespace"}, {Kind: "ServiceAccount"},
		{Group: "apps", Kind: "Deployment"}, {Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortStableFunc(got, func(a, b schema.GroupKind) int { return InstallStep(a) - InstallStep(b) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, same := range [][2]schema.GroupKind{
		{{Kind: "ServiceAccount"}, {Group: "storage.k8s.io", Kind: "StorageClass"}},
		{{Group: "apps", Kind: "Deployment"}, {Group: "example.com", Kind: "Namespace"}},
	} {
		if InstallStep(same[0]) != InstallStep(same[1]) {
			t.Errorf("%s and %s are installed in different steps", same[0], same[1])
		}
	}
}
