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
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Build returns the objects of the kustomization in a folder, in kustomize's order. The objects are
// unstructured. The library does not run plugins or helm. Without a kustomization in the folder, or with
// mistakes in it, Build returns kustomize's error. Several goroutines may call Build at the same time.
func Build(folder string) ([]runtime.Object, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
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

// Objects is Build for tests: an error fails the test with t.Fatal.
func Objects(t testing.TB, folder string) []runtime.Object {
	t.Helper()
	objects, err := Build(folder)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
