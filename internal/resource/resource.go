package resource

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/store"
)

// Names are the names of a resource, as in a CustomResourceDefinition.
type Names struct {
	Plural     string
	Singular   string
	ShortNames []string
	Kind       string
	ListKind   string
	Categories []string
}

// Resource is a kind of objects, which are stored once and served in one or more versions.
type Resource struct {
	Group      string
	Names      Names
	Namespaced bool
	// NamespaceOfItself: each object is a Namespace. The name in its path is also the namespace of the request, and for
	// admission it is in the namespace of its own name.
	NamespaceOfItself bool
	// Verbs are the verbs that discovery shows.
	Verbs []string
	// Routing is how requests are routed to the resource.
	Routing Routing

	// Versions are in the order of discovery, the preferred one first. They
	// include versions that are not served, because objects may be stored in
	// them.
	Versions []*Version
	// Storage is the version in which objects are stored.
	Storage *Version

	// StorageVersionHash is the hash that discovery shows; empty: the hash of Storage.
	StorageVersionHash string
	// HidesStorageVersion: discovery shows no storage version hash, as for a custom resource whose storage version is
	// not served.
	HidesStorageVersion bool
	// BriefKinds: aggregated discovery leaves out the group and version of a kind
	// if they are those of the document. Otherwise it always names them.
	BriefKinds bool

	// Uncached: a real server reads and watches the objects in etcd, without its watch cache: a
	// watch cannot start before the last compaction and gets no bookmarks from time to time, a list at
	// resourceVersion 0 has a limit, and some messages differ.
	Uncached bool

	// ConfiguresAdmission: the objects configure admission: webhooks, policies and their
	// bindings.
	ConfiguresAdmission bool

	// InTreeAdmission: the objects have upstream's internal types, to which the compiled-in admission plugins apply.
	InTreeAdmission bool

	// Prefix is the prefix of the store keys of all objects. It ends with a slash. Objects that outlive their definition
	// reappear with the next definition of the same group and plural.
	Prefix string

	// StoredUnder is the path of the objects below /registry in the etcd of a real server, without slashes around it.
	// Some error messages contain it. For most built-in kinds it is the plural.
	StoredUnder string

	// Definition is the record that defines the resource, and has no key if the resource is built in. A write commits only if the
	// record is still at this revision.
	Definition store.Precondition

	// Since is the revision at which the definition was established. The history of the resource begins there.
	Since int64

	// ConvertedByWebhook: a webhook converts the objects. It is called through the services
	// of one cluster, so a fork cannot share the resource.
	ConvertedByWebhook bool

	// Unlisted: the resource is served, but is not in discovery and OpenAPI, because its definition is not established.
	Unlisted bool

	// Unusable: requests for the objects fail, because the configuration of the conversion webhook is invalid.
	Unusable bool

	// Terminating: creates are rejected, because the definition is being deleted.
	Terminating bool
}

// GroupResource returns the group and the plural.
func (r *Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Names.Plural}
}

// GroupKind returns the group and the kind.
func (r *Resource) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Group, Kind: r.Names.Kind}
}

// Key returns the store key of an object. The namespace is empty for a cluster-scoped resource.
func (r *Resource) Key(namespace, name string) string {
	if r.Namespaced {
		return r.Prefix + namespace + "/" + name
	}
	return r.Prefix + name
}

// KeyInEtcd returns the key of an object in the etcd of a real server, which error messages contain.
func (r *Resource) KeyInEtcd(namespace, name string) string {
	if r.Namespaced {
		return "/registry/" + r.StoredUnder + "/" + namespace + "/" + name
	}
	return "/registry/" + r.StoredUnder + "/" + name
}

// NamespaceOf returns the namespace in a store key; empty for a cluster-scoped resource.
func (r *Resource) NamespaceOf(key string) string {
	if !r.Namespaced {
		return ""
	}
	namespace, _, _ := strings.Cut(strings.TrimPrefix(key, r.Prefix), "/")
	return namespace
}

// Remembers returns a store.CompactedError for a revision before Since. Revision 0 is the newest.
func (r *Resource) Remembers(revision int64) error {
	if revision != 0 && revision < r.Since {
		return &store.CompactedError{Requested: revision, Oldest: r.Since}
	}
	return nil
}

// NameOf returns the name in a store key.
func (r *Resource) NameOf(key string) string {
	return key[strings.LastIndexByte(key, '/')+1:]
}

// PrefixOf returns the prefix of the store keys of the objects in a namespace; of all objects if the namespace is empty.
func (r *Resource) PrefixOf(namespace string) string {
	if namespace == "" {
		return r.Prefix
	}
	return r.Prefix + namespace + "/"
}

// Version returns the version with a name, or nil.
func (r *Resource) Version(name string) *Version {
	for _, v := range r.Versions {
		if v.Name == name {
			return v
		}
	}
	return nil
}
