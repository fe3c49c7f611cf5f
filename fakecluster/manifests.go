package fakecluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// WithManifests creates everything in manifest files and folders. The paths are read as those of
// WithCRDPaths, and the items of a List are created one by one. Objects are created in the order
// that installing needs, whatever the order of the files: definitions, namespaces, what other
// objects refer to (classes, service accounts, limits), all others, and last what judges writes or
// serves versions (webhooks, policies, APIServices). Objects of the same step are created in the
// order of the files.
//
// Objects are created after the definitions of WithCRDPaths, as by kubectl: an object without a
// namespace goes to "default", and a status is ignored. It is an error if a path does not exist, if
// a folder has no manifest, or if the server refuses an object. The option may be given more than
// once.
//
// Default: none.
func WithManifests(paths ...string) Option {
	return func(s *settings) { s.manifests = append(s.manifests, paths...) }
}

// The steps of installing.
const (
	definitionsFirst = iota
	namespacesNext
	referredTo
	others
	judgesLast
)

// stepOf returns the step in which objects of a kind are installed.
func stepOf(kind schema.GroupKind) int {
	switch kind.Group {
	case "apiextensions.k8s.io":
		return definitionsFirst
	case "admissionregistration.k8s.io", "apiregistration.k8s.io":
		return judgesLast
	case "scheduling.k8s.io", "node.k8s.io", "storage.k8s.io":
		return referredTo
	}
	switch kind.String() {
	case "Namespace":
		return namespacesNext
	case "ServiceAccount", "LimitRange", "ResourceQuota", "IngressClass.networking.k8s.io":
		return referredTo
	}
	return others
}

// loadManifests creates what is in the manifests up to a step, or what is left after it.
func (c *Cluster) loadManifests(ctx context.Context, last bool) error {
	type placed struct {
		manifest
		path string
	}
	var all []placed
	for _, path := range c.settings.manifests {
		if err := eachManifest("manifest path", path, func(m manifest) error {
			each, err := unfold(m)
			for _, m := range each {
				if (stepOf(m.GroupVersionKind().GroupKind()) == judgesLast) == last {
					all = append(all, placed{m, path})
				}
			}
			return err
		}); err != nil {
			return err
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		return cmp.Compare(stepOf(a.GroupVersionKind().GroupKind()), stepOf(b.GroupVersionKind().GroupKind()))
	})
	for _, m := range all {
		if err := c.createManifest(ctx, m.manifest); err != nil {
			return fmt.Errorf("manifest path %s: %s %q: %w", m.path, m.Kind, m.GetName(), err)
		}
	}
	return nil
}

// unfold returns the items of a List, or else the manifest itself.
func unfold(m manifest) ([]manifest, error) {
	if m.GroupVersionKind() != (schema.GroupVersionKind{Version: "v1", Kind: "List"}) {
		return []manifest{m}, nil
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(m.text, &list); err != nil {
		return nil, err
	}
	var all []manifest
	for _, item := range list.Items {
		one := manifest{document: m.document, text: item}
		if err := json.Unmarshal(item, &one.PartialObjectMetadata); err != nil {
			return nil, err
		}
		each, err := unfold(one)
		if err != nil {
			return nil, err
		}
		all = append(all, each...)
	}
	return all, nil
}

func (c *Cluster) createManifest(ctx context.Context, m manifest) error {
	kind := m.GroupVersionKind()
	if isDefinition(kind) {
		m, err := c.prepareManifest(m)
		if err != nil {
			return err
		}
		return c.install(ctx, m)
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(m.text, &u.Object); err != nil {
		return err
	}
	delete(u.Object, "status")
	if isAPIService(kind) {
		c.services.trustAPIService(u)
	}
	return c.create(ctx, u)
}
