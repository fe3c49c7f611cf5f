package plugins

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// factory creates informers that read the cluster at each call. It has the groups that plugins
// use; the other methods of the interface are nil.
type factory struct {
	informers.SharedInformerFactory
	cluster admission.Cluster
}

func (f factory) Core() core.Interface             { return core.New(f, "", nil) }
func (f factory) Networking() networking.Interface { return networking.New(f, "", nil) }
func (f factory) Node() node.Interface             { return node.New(f, "", nil) }
func (f factory) Scheduling() scheduling.Interface { return scheduling.New(f, "", nil) }
func (f factory) Storage() storage.Interface       { return storage.New(f, "", nil) }

// InformerFor implements informers.SharedInformerFactory.
func (f factory) InformerFor(obj runtime.Object, _ internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil // upstream requests only its own kinds
	}
	return informer{indexer: indexer{cluster: f.cluster, kind: kinds[0]}}
}

// informer is an informer that has always synced.
type informer struct {
	cache.SharedIndexInformer
	indexer indexer
}

func (i informer) GetIndexer() cache.Indexer { return i.indexer }
func (i informer) GetStore() cache.Store     { return i.indexer }
func (i informer) HasSynced() bool           { return true }

// indexer returns the stored objects of a kind.
type indexer struct {
	cache.Indexer
	cluster admission.Cluster
	kind    schema.GroupVersionKind
}

// version returns the kind in the registry, or nil if it is not served.
func (i indexer) version() *resource.Version {
	if r := i.cluster.Registry().Kind(i.kind); r != nil {
		return r.Version(i.kind.Version)
	}
	return nil
}

func (i indexer) in(namespace string) ([]any, error) {
	v := i.version()
	if v == nil {
		return nil, nil
	}
	objects, err := i.cluster.List(v, namespace, nil)
	items := make([]any, len(objects))
	for n, obj := range objects {
		items[n] = obj
	}
	return items, err
}

// List implements cache.Store. It cannot return an error.
func (i indexer) List() []any {
	items, err := i.in("")
	if err != nil {
		return nil
	}
	return items
}

// Index implements cache.Indexer for the index by namespace, the one that listers use.
func (i indexer) Index(_ string, obj any) ([]any, error) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return i.in(metadata.GetNamespace())
}

// ByIndex implements cache.Indexer.
func (i indexer) ByIndex(_, namespace string) ([]any, error) { return i.in(namespace) }

// GetByKey implements cache.Store. As in an informer's store, an invalid key, such as the name of a PriorityClass with a
// slash, has no object.
func (i indexer) GetByKey(key string) (item any, exists bool, err error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	v := i.version()
	if err != nil || v == nil || v.Resource.Namespaced == (namespace == "") {
		return nil, false, nil
	}
	obj, err := i.cluster.Get(v, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	return obj, err == nil, err
}
