package console

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// ObjectHistory returns the states of an object in the history of the store, the oldest first, in the version of the
// kind. A namespaced kind needs a namespace.
func ObjectHistory(c *server.Cluster, kind schema.GroupVersionKind, namespace, name string) (inspect.History, error) {
	v, key, err := named(c, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	return c.History.ObjectHistory(c.Store, key, func(record store.Record) (string, error) { return view.Text(v, record) })
}

// WritesSince returns the writes to an object after a revision, as far as the history reaches.
func WritesSince(c *server.Cluster, written schema.GroupVersionResource, namespace, name string, revision int64) []inspect.InterveningWrite {
	res := c.Registry().Resource(written.Group, written.Resource)
	if res == nil {
		return nil
	}
	v := res.Version(written.Version)
	if v == nil {
		return nil
	}
	history, err := ObjectHistory(c, v.Kind(), namespace, name)
	if err != nil {
		return nil // the definition was deleted
	}
	var since []inspect.InterveningWrite
	for _, r := range history {
		if r.Revision <= revision {
			continue
		}
		write := inspect.InterveningWrite{Revision: r.Revision, By: r.Client(), Verb: r.Verb, Changes: r.Changes}
		if r.Patch == "apply" {
			write.Verb = r.Patch
		}
		if r.Subresource != "" {
			write.Verb += " " + r.Subresource
		}
		since = append(since, write)
	}
	return since
}

// ObjectAt returns an object at a revision, in the version of the kind; revision 0 is the current one. It fails with
// NotFound if the object did not exist, with Expired if the revision is too old, and with the error of a list if the
// revision is in the future.
func ObjectAt(c *server.Cluster, kind schema.GroupVersionKind, namespace, name string, revision int64) (map[string]any, error) {
	v, key, err := named(c, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	record, err := c.Store.GetAt(key, revision)
	var compacted *store.CompactedError
	var future *store.FutureError
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, apierrors.NewNotFound(v.Resource.GroupResource(), name)
	case errors.As(err, &compacted):
		return nil, view.Expired(v.Resource, err)
	case errors.As(err, &future):
		return nil, storage.NewTooLargeResourceVersionError(uint64(future.Requested), uint64(future.Current), 1)
	case err != nil:
		return nil, err
	}
	text, err := view.Text(v, record)
	if err != nil {
		return nil, err
	}
	var obj map[string]any
	return obj, utiljson.Unmarshal([]byte(text), &obj)
}

// named returns the version of a kind, and the key of an object of the kind.
func named(c *server.Cluster, kind schema.GroupVersionKind, namespace, name string) (*resource.Version, string, error) {
	res := c.Registry().Kind(kind)
	if res == nil || res.Version(kind.Version) == nil {
		return nil, "", fmt.Errorf("%w; %s", &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}, instead(c, kind))
	}
	if !res.Namespaced {
		namespace = ""
	}
	return res.Version(kind.Version), res.Key(namespace, name), nil
}

// instead returns advice for a kind that the cluster does not serve.
func instead(c *server.Cluster, kind schema.GroupVersionKind) string {
	var same, others []string
	for _, group := range c.Registry().Groups() {
		for _, r := range group.Resources {
			for _, version := range group.Versions {
				gv := schema.GroupVersion{Group: group.Name, Version: version}
				switch {
				case r.Version(version) == nil:
				case r.Names.Kind == kind.Kind && !slices.Contains(same, gv.String()):
					same = append(same, gv.String())
				case gv == kind.GroupVersion() && !slices.Contains(others, r.Names.Kind):
					others = append(others, r.Names.Kind)
				}
			}
		}
	}
	switch {
	case len(same) > 0:
		return fmt.Sprintf("the cluster serves %s in %s", kind.Kind, strings.Join(same, ", "))
	case len(others) > 0:
		return "the cluster serves in this group " + strings.Join(slices.Sorted(slices.Values(others)), ", ")
	}
	return "give its definition to fakecluster.WithCRDPaths"
}

// ObjectName returns the name of an object for messages, such as: Deployment default/web. An object
// of a cluster-scoped kind has no namespace.
func ObjectName(c *server.Cluster, kind schema.GroupVersionKind, namespace, name string) string {
	if res := c.Registry().Kind(kind); res != nil && res.Namespaced {
		return fmt.Sprintf("%s %s/%s", kind.Kind, namespace, name)
	}
	return fmt.Sprintf("%s %s", kind.Kind, name)
}
