// Package kustomize builds the objects of a kustomization, such as config/default of an operator's
// repository, with kustomize's own library:
//
//	c := fakecluster.Start(t, fakecluster.WithObjects(kustomize.Objects(t, "../config/default")...))
//
// It is a package of its own, so that other tests do not compile that library. The flag --kustomize of the
// command does the same.
package kustomize

import (
	"fmt"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/fakecluster/fakecluster/internal/manifests"
)

// Build returns the objects of the kustomization in a folder, in kustomize's order. The objects are
// unstructured. The library does not run plugins or helm. If the folder does not contain a kustomization, or
// one with mistakes, Build returns kustomize's error with the folder. Several goroutines may call Build at
// the same time.
func Build(folder string) ([]runtime.Object, error) {
	for _, name := range konfig.RecognizedKustomizationFileNames() { // the library passes over those that it cannot read
		if err := manifests.Check(filepath.Join(folder, name)); err != nil {
			return nil, fmt.Errorf("kustomize %s: %w", folder, err)
		}
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk{filesys.MakeFsOnDisk()}, folder)
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", folder, err)
	}
	var objects []runtime.Object
	for _, resource := range resources.Resources() {
		text, err := resource.MarshalJSON()
		u := &unstructured.Unstructured{}
		if err == nil {
			err = u.UnmarshalJSON(text)
		}
		if err != nil {
			return nil, fmt.Errorf("kustomize %s: %s: %w", folder, resource.CurId(), err)
		}
		objects = append(objects, u)
	}
	return objects, nil
}

// disk rejects devices, FIFOs and files that are too large.
type disk struct{ filesys.FileSystem }

// ReadFile implements filesys.FileSystem.
func (disk) ReadFile(path string) ([]byte, error) { return manifests.ReadFile(path) }

// Objects is Build for tests: an error fails the test with t.Fatal.
func Objects(t testing.TB, folder string) []runtime.Object {
	t.Helper()
	objects, err := Build(folder)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
