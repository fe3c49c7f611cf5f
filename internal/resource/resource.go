package resource

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/store"
)

// Names are the names a resource goes by.
type Names struct {
	Plural     string
	Singular   string
	ShortNames []string
	Kind       string
	ListKind   string
	Categories []string
}

// Resource is one kind of objects, stored once and seen through one or more
// versions.
type Resource struct {
	Group      string
	Names      Names
	Namespaced bool
	// NamespaceOfItself says that each object is a namespace, which is in itself: the path of
	// an object also has it as a namespace, and for admission it is in the
	// namespace of its own name.
	NamespaceOfItself bool
	// Verbs are the verbs that discovery shows.
	Verbs []string
	// Routing says how requests find the resource.
	Routing Routing

	// Versions are in the order of discovery, the preferred one first. They
	// include versions that are not served, because objects may be stored in
	// them.
	Versions []*Version
	// Storage is the version objects are written to the store in.
	Storage *Version

	// StorageVersionHash is the hash that discovery shows; empty: the hash of Storage.
	StorageVersionHash string
	// HidesStorageVersion says that discovery shows no hash. For a custom resource it shows
	// one only if the storage version is served.
	HidesStorageVersion bool
	// BriefKinds says that aggregated discovery leaves out the group and version of a kind
	// if they are those of the document. Otherwise it always names them.
	BriefKinds bool

	// Uncached says that a real server reads and watches the objects in etcd, without its watch cache: a
	// watch cannot start before the last compaction and gets no bookmarks from time to time, a list at
	// resourceVersion 0 has a limit, and some messages differ.
	Uncached bool

	// ConfiguresAdmission says that the objects configure admission: webhooks, policies and their
	// bindings.
	ConfiguresAdmission bool

	// InTreeAdmission reports that the objects are of upstream's internal types, to which the admission
	// plugins that are compiled into kube-apiserver apply.
	InTreeAdmission bool

	// Prefix is what the store keys of all objects begin with. It ends with a
	// slash. Objects that outlive their definition are there again with the next one of the same group and plural.
	Prefix string

	// StoredUnder is where a real server keeps the objects below /registry, without slashes around
	// it: some error messages have it. Most built-in kinds are under their plural.
	StoredUnder string

	// Definition is the record that defines the resource, and has no key if the resource is built in. A write commits only if the
	// record is still at this revision.
	Definition store.Precondition

	// Since is the revision that established the definition. The history of the resource begins there.
	Since int64

	// ConvertedByWebhook says that a webhook converts the objects. It is called through the services
	// of one cluster, so a fork cannot share the resource.
	ConvertedByWebhook bool

	// Unlisted keeps a resource that is served out of discovery and OpenAPI, because
	// its definition is not established.
	Unlisted bool

	// Unusable says that requests for the objects find a path and fail: the definition has a conversion
	// webhook that cannot be called.
	Unusable bool

	// Terminating refuses creates, because the definition is being deleted.
	Terminating bool
}

// GroupResource names the resource without a version.
func (r *Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Names.Plural}
}

// GroupKind names the kind of the objects without a version.
func (r *Resource) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Group, Kind: r.Names.Kind}
}

// Key returns the store key of one object. The namespace is empty for a cluster-scoped
// resource.
func (r *Resource) Key(namespace, name string) string {
	if r.Namespaced {
		return r.Prefix + namespace + "/" + name
	}
	return r.Prefix + name
}

// KeyInEtcd returns the key that an object has in the storage of a real server, as error messages
// show it.
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

// Remembers fails with a store.CompactedError for a revision at which there was no such
// resource. Revision 0 stands for the newest.
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

// PrefixOf returns what the store keys of the objects of one namespace begin with, or of
// all objects for the empty namespace.
func (r *Resource) PrefixOf(namespace string) string {
	if namespace == "" {
		return r.Prefix
	}
	return r.Prefix + namespace + "/"
}

// Version returns the version of that name, or nil.
func (r *Resource) Version(name string) *Version {
	for _, v := range r.Versions {
		if v.Name == name {
			return v
		}
	}
	return nil
}
