package syntax

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestASetupMayHaveAKustomization(t *testing.T) {
	t.Chdir(t.TempDir())
	for path, text := range map[string]string{
		"base/kustomization.yaml":    "resources: [a.yaml]\n",
		"base/a.yaml":                "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
		"overlay/kustomization.yaml": "resources: [../base, b.yaml]\n",
		"overlay/b.yaml":             "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n",
		"s.yaml":                     "scenario: s\nsetup:\n- kustomize: overlay\nsteps:\n- get: {path: /healthz}\n",
		"file.yaml":                  "scenario: s\nsetup:\n- file: overlay\nsteps:\n- get: {path: /healthz}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := func(folder string) ([]runtime.Object, error) {
		if folder != "overlay" {
			t.Errorf("the folder is %s", folder)
		}
		return []runtime.Object{
			&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "b", "namespace": "n"}}},
			&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "n"}}},
		}, nil
	}
	loaded, err := Reader{Kustomize: build}.Load("s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []any
	for _, step := range loaded[0].Setup {
		kinds = append(kinds, step.Argument["kind"])
		if place := step.Pos.String(); place != "s.yaml:3" {
			t.Errorf("the step is at %s", place)
		}
	}
	if len(kinds) != 2 || kinds[0] != "Namespace" || kinds[1] != "ConfigMap" {
		t.Errorf("the setup creates %v", kinds)
	}

	for _, tt := range []struct {
		reader     Reader
		file, want string
	}{
		{Reader{}, "s.yaml", "s.yaml:3:3: the setup has a kustomization: give scenarios.Run the option scenarios.WithKustomize(kustomize.Build), with package github.com/fakecluster/fakecluster/kustomize"},
		{Reader{Kustomize: func(string) ([]runtime.Object, error) { return nil, errors.New("it is broken") }}, "s.yaml", "s.yaml:3:3: it is broken"},
		{Reader{}, "file.yaml", "file.yaml:3:3: the kustomization in overlay needs ../base, which is not in the folder; to build it, write {kustomize: overlay}"},
	} {
		if _, err := tt.reader.Load(tt.file); err == nil || err.Error() != tt.want {
			t.Errorf("got %v\nwant %s", err, tt.want)
		}
	}
}
