package openapi

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// kindExtension is the extension of an operation that names the kind that it is about.
const kindExtension = "x-kubernetes-group-version-kind"

// sortedKind is a kind with its keys in alphabetical order.
type sortedKind struct {
	Group   string `json:"group"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

// readBack returns paths as a real server has them in OpenAPI v2: with the keys of extensions in alphabetical order,
// because the aggregator reads the documents of its servers as text. It does not alter the given paths.
func readBack(paths *spec.Paths) *spec.Paths {
	if paths == nil {
		return nil
	}
	kept := *paths
	kept.Paths = make(map[string]spec.PathItem, len(paths.Paths))
	for path, item := range paths.Paths {
		for _, o := range []**spec.Operation{&item.Get, &item.Put, &item.Post, &item.Delete, &item.Options, &item.Head, &item.Patch} {
			if *o == nil {
				continue
			}
			if kind, ok := (*o).Extensions[kindExtension].(metav1.GroupVersionKind); ok {
				read := **o
				read.Extensions = maps.Clone(read.Extensions)
				read.Extensions[kindExtension] = sortedKind{kind.Group, kind.Kind, kind.Version}
				*o = &read
			}
		}
		kept.Paths[path] = item
	}
	return &kept
}
