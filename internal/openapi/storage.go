package openapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// This file has placeholders for the storage of kinds. Upstream's installer checks which interfaces a placeholder
// implements, and describes a path for each verb. It never calls the methods.

// placeholder is the part that every placeholder has.
type placeholder struct {
	version *resource.Version
	scheme  *runtime.Scheme
	kind    schema.GroupVersionKind
}

// New implements registryrest.Storage.
func (d placeholder) New() runtime.Object { return newObject(d.scheme, d.kind) }

// NewList returns an empty list of the kind, for those that can be listed.
func (d placeholder) NewList() runtime.Object {
	return newObject(d.scheme, d.version.GroupVersion().WithKind(d.version.Resource.Names.ListKind))
}

// newObject returns an empty object, or nil if the kind is not in the scheme. The installer then fails, because it looks the
// kind up itself.
func newObject(scheme *runtime.Scheme, kind schema.GroupVersionKind) runtime.Object {
	obj, err := scheme.New(kind)
	if err != nil {
		return nil
	}
	return obj
}

// Destroy implements registryrest.Storage.
func (placeholder) Destroy() {}

// NamespaceScoped implements registryrest.Scoper.
func (d placeholder) NamespaceScoped() bool { return d.version.Resource.Namespaced }

// GetSingularName implements registryrest.SingularNameProvider.
func (d placeholder) GetSingularName() string { return d.version.Resource.Names.Singular }

// GroupVersionKind implements registryrest.GroupVersionKindProvider.
func (d placeholder) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind { return d.kind }

// DeleteReturnsDeletedObject implements registryrest.MayReturnFullObjectDeleter. Upstream's storage of namespaces does
// not implement it.
func (d placeholder) DeleteReturnsDeletedObject() bool {
	return d.version.Deletion.AnswersObject && d.version.ContentFirst == nil
}

// The verbs, each with the methods by which the installer recognizes it.
type (
	gets interface {
		Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error)
	}
	lists interface {
		List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error)
		ConvertToTable(ctx context.Context, object runtime.Object, options runtime.Object) (*metav1.Table, error)
	}
	watches interface {
		Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error)
	}
	creates interface {
		Create(ctx context.Context, obj runtime.Object, validate registryrest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error)
	}
	updates interface {
		Update(ctx context.Context, name string, info registryrest.UpdatedObjectInfo, create registryrest.ValidateObjectFunc,
			update registryrest.ValidateObjectUpdateFunc, force bool, options *metav1.UpdateOptions) (runtime.Object, bool, error)
	}
	deletes interface {
		Delete(ctx context.Context, name string, validate registryrest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error)
	}
	deletesAll interface {
		DeleteCollection(ctx context.Context, validate registryrest.ValidateObjectFunc, options *metav1.DeleteOptions,
			list *metainternalversion.ListOptions) (runtime.Object, error)
	}
)

// The storages, each with the verbs that a kind or a subresource has.
type (
	readable struct {
		placeholder
		gets
		lists
	}
	writable struct {
		readable
		watches
		creates
		updates
		deletes
	}
	deletable struct {
		writable
		deletesAll
	}
	changeable struct {
		placeholder
		gets
		updates
	}
	creatable struct {
		placeholder
		creates
	}
	updatable struct {
		placeholder
		updates
	}
)

// placeholders returns the storage for each set of verbs. A resource with get and update also has patch.
var placeholders = map[string]func(placeholder) registryrest.Storage{
	"create delete deletecollection get list patch update watch": func(d placeholder) registryrest.Storage {
		return deletable{writable: writable{readable: readable{placeholder: d}}}
	},
	"create delete get list patch update watch": func(d placeholder) registryrest.Storage {
		return writable{readable: readable{placeholder: d}}
	},
	"get list":         func(d placeholder) registryrest.Storage { return readable{placeholder: d} },
	"get patch update": func(d placeholder) registryrest.Storage { return changeable{placeholder: d} },
	"create":           func(d placeholder) registryrest.Storage { return creatable{placeholder: d} },
	"update":           func(d placeholder) registryrest.Storage { return updatable{placeholder: d} },
}

// placeholderFor returns a storage with the verbs.
func placeholderFor(d placeholder, verbs []string) (registryrest.Storage, error) {
	verbs = slices.Sorted(slices.Values(verbs))
	make := placeholders[strings.Join(verbs, " ")]
	if make == nil {
		return nil, fmt.Errorf("OpenAPI cannot describe %s with the verbs %v", d.kind, verbs)
	}
	return make(d), nil
}

// storages returns placeholders for a version of a kind and its subresources, by their paths.
func storages(scheme *runtime.Scheme, v *resource.Version, into map[string]registryrest.Storage) error {
	plural := v.Resource.Names.Plural
	own, err := placeholderFor(placeholder{v, scheme, v.Kind()}, v.Resource.Verbs)
	if err != nil {
		return err
	}
	into[plural] = own
	for name, s := range v.Subresource {
		path := plural + "/" + name
		if s.Connection != nil {
			into[path] = s.Connection.Storage
			continue
		}
		if into[path], err = placeholderFor(placeholder{v, scheme, v.KindOf(s)}, s.Verbs); err != nil {
			return err
		}
	}
	return nil
}
