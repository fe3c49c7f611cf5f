package fakecluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fakecluster/fakecluster/internal/manifests"
)

// WithManifests creates everything in manifest files and folders. The paths are read as those of
// WithCRDPaths, and the items of a List are created one by one. Objects are created in the order
// that installing needs, whatever the order of the files: definitions, namespaces, what other
// objects refer to (classes, service accounts, limits), all others, and last the configurations of
// admission and aggregation (webhooks, policies, APIServices). Objects of the same step are created
// in the order of the options and files. The objects of WithObjects are created in the same order.
//
// Objects are created after the definitions of WithCRDPaths, as by kubectl: an object without a namespace
// goes to "default", and a status is ignored. It is an error if a path does not exist, if a folder does not
// contain a manifest, if it is a kustomization that needs resources outside of the folder, or if the server
// rejects an object. The option may be given more than once.
//
// Default: none.
func WithManifests(paths ...string) Option {
	return func(s *settings) {
		for _, path := range paths {
			s.additions = append(s.additions, addition{manifests: true, path: path})
		}
	}
}

// addition is what an option adds to a new cluster: the manifests at a path, or an object.
type addition struct {
	manifests bool   // else: object
	path      string // of the manifests
	object    runtime.Object
}

// loadAdditions creates the objects and manifests of all options, in the order of the steps.
func (c *Cluster) loadAdditions(ctx context.Context) error {
	type creation struct {
		step   int
		create func() error
	}
	var creations []creation
	objects := 0
	for _, a := range c.settings.additions {
		if a.manifests {
			if resource := manifests.ResourceOutside(a.path); resource != "" {
				return fmt.Errorf("manifest path %s: its kustomization needs %s, which is not in the folder: write fakecluster.WithObjects(kustomize.Objects(t, %q)...), or --kustomize %[1]s",
					a.path, resource, a.path)
			}
			err := eachManifest("manifest path", a.path, func(m manifests.Manifest) error {
				each, err := m.Unfold()
				for _, m := range each {
					creations = append(creations, creation{manifests.InstallStep(m.GroupVersionKind().GroupKind()), func() error {
						if err := c.createManifest(ctx, m); err != nil {
							return fmt.Errorf("manifest path %s: %s %q: %w", a.path, m.Kind, m.GetName(), err)
						}
						return nil
					}})
				}
				return err
			})
			if err != nil {
				return err
			}
			continue
		}
		number := objects
		objects++
		u, err := c.settings.toUnstructured(a.object)
		if err != nil {
			return fmt.Errorf("object %d: %w", number, err)
		}
		creations = append(creations, creation{manifests.InstallStep(u.GroupVersionKind().GroupKind()), func() error {
			if err := c.createObject(ctx, u); err != nil {
				return fmt.Errorf("object %d, %s %q: %w", number, u.GetKind(), u.GetName(), err)
			}
			return nil
		}})
	}
	slices.SortStableFunc(creations, func(a, b creation) int { return cmp.Compare(a.step, b.step) })
	for _, one := range creations {
		if err := one.create(); err != nil {
			return err
		}
	}
	return nil
}

// createObject creates an object of WithObjects.
func (c *Cluster) createObject(ctx context.Context, u *unstructured.Unstructured) error {
	switch kind := u.GroupVersionKind(); {
	case isDefinition(kind):
		if err := c.prepareDefinition(u); err != nil {
			return err
		}
	case isAPIService(kind):
		c.services.trustAPIService(u)
	}
	return c.create(ctx, u)
}

func (c *Cluster) createManifest(ctx context.Context, m manifests.Manifest) error {
	kind := m.GroupVersionKind()
	if isDefinition(kind) {
		m, err := c.prepareManifest(m)
		if err != nil {
			return err
		}
		return c.install(ctx, m)
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(m.Text, &u.Object); err != nil {
		return err
	}
	delete(u.Object, "status")
	if isAPIService(kind) {
		c.services.trustAPIService(u)
	}
	return c.create(ctx, u)
}
