package builtin

import (
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// overCluster provides upstream's storages of kinds with the objects of the cluster in the context. They are used for
// what strategies do not do: binding and evicting pods, addresses of services, tokens.
type overCluster struct{}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (overCluster) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	versions := legacyscheme.Scheme.PrioritizedVersionsForGroup(resource.Group)
	config := storagebackend.Config{Codec: legacyscheme.Codecs.LegacyCodec(versions...)}
	return generic.RESTOptions{
		StorageConfig:           config.ForResource(resource),
		ResourcePrefix:          resource.Resource,
		EnableGarbageCollection: true,
		Decorator: func(config *storagebackend.ConfigForResource, _ string, _ func(runtime.Object) (string, error), _, _ func() runtime.Object,
			_ storage.AttrFunc, _ storage.IndexerFuncs, _ *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			return objects{resource: resource}, func() {}, nil
		},
	}, nil
}

// objects is a storage.Interface of a kind in the cluster of the context. It reads and changes single objects.
type objects struct {
	resource schema.GroupResource
}

// errSingleObjects is the error of all other methods, which the storages in use do not call.
var errSingleObjects = errors.New("fakecluster: upstream's storages can only read and change single objects")

// place returns the cluster, namespace and name for a key. It fails if the request has ended, which ends upstream's
// loops that retry after a conflict.
func (o objects) place(ctx context.Context, key string) (c Cluster, namespace, name string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", "", err
	}
	c, err = ClusterFrom(ctx)
	return c, apirequest.NamespaceValue(ctx), key[strings.LastIndexByte(key, '/')+1:], err
}

// assign copies from to the object to which to points.
func assign(to, from runtime.Object) error {
	target, err := conversion.EnforcePtr(to)
	if err != nil {
		return err
	}
	source, err := conversion.EnforcePtr(from)
	if err != nil {
		return err
	}
	target.Set(source)
	return nil
}

// asStorage returns an error in the form that upstream's storages expect.
func asStorage(key string, err error) error {
	if apierrors.IsNotFound(err) {
		return storage.NewKeyNotFoundError(key, 0)
	}
	return err
}

// Versioner implements storage.Interface.
func (objects) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// Get implements storage.Interface.
func (o objects) Get(ctx context.Context, key string, _ storage.GetOptions, into runtime.Object) error {
	c, namespace, name, err := o.place(ctx, key)
	if err != nil {
		return err
	}
	obj, err := c.Object(o.resource, namespace, name)
	if err != nil {
		return asStorage(key, err)
	}
	return assign(into, obj)
}

// GuaranteedUpdate implements storage.Interface.
func (o objects) GuaranteedUpdate(ctx context.Context, key string, into runtime.Object, _ bool, conditions *storage.Preconditions,
	update storage.UpdateFunc, _ runtime.Object) error {
	c, namespace, name, err := o.place(ctx, key)
	if err != nil {
		return err
	}
	updated, err := c.Put(ctx, o.resource, namespace, name, func(current runtime.Object) (runtime.Object, error) {
		if err := conditions.Check("/registry"+key, current); err != nil {
			return nil, err
		}
		revision, err := o.Versioner().ObjectResourceVersion(current)
		if err != nil {
			return nil, err
		}
		former := current.(metav1.Object)
		began, grace := former.GetDeletionTimestamp(), former.GetDeletionGracePeriodSeconds()
		obj, _, err := update(current, storage.ResponseMeta{ResourceVersion: revision})
		if err == nil {
			dateDeletion(obj.(metav1.Object), began, grace, c.Now())
		}
		return obj, err
	})
	if err != nil {
		return asStorage(key, err)
	}
	return assign(into, updated)
}

// dateDeletion sets the deletionTimestamp of an object by the clock of the cluster, if a storage has begun the deletion
// or shortened its grace period. Upstream's code uses the clock of the machine.
func dateDeletion(obj metav1.Object, began *metav1.Time, grace *int64, now time.Time) {
	period := obj.GetDeletionGracePeriodSeconds()
	if period == nil || grace != nil && *period == *grace {
		return
	}
	ends := now
	if began == nil {
		ends = now.Add(time.Duration(*period) * time.Second)
	} else if shortened := began.Add(time.Duration(*period-*grace) * time.Second); shortened.After(now) {
		ends = shortened
	}
	obj.SetDeletionTimestamp(&metav1.Time{Time: ends})
}

// Delete implements storage.Interface.
func (o objects) Delete(ctx context.Context, key string, into runtime.Object, conditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions) error {
	c, namespace, name, err := o.place(ctx, key)
	if err != nil {
		return err
	}
	last, err := c.Drop(ctx, o.resource, namespace, name, func(current runtime.Object) error {
		if err := conditions.Check("/registry"+key, current); err != nil {
			return err
		}
		return validate(ctx, current)
	})
	if err != nil {
		return asStorage(key, err)
	}
	return assign(into, last)
}

// Create implements storage.Interface.
func (objects) Create(context.Context, string, runtime.Object, runtime.Object, uint64) error {
	return errSingleObjects
}

// Watch implements storage.Interface.
func (objects) Watch(context.Context, string, storage.ListOptions) (watch.Interface, error) {
	return nil, errSingleObjects
}

// GetList implements storage.Interface.
func (objects) GetList(context.Context, string, storage.ListOptions, runtime.Object) error {
	return errSingleObjects
}

// Stats implements storage.Interface.
func (objects) Stats(context.Context) (storage.Stats, error) {
	return storage.Stats{}, errSingleObjects
}

// ReadinessCheck implements storage.Interface.
func (objects) ReadinessCheck() error { return nil }

// RequestWatchProgress implements storage.Interface.
func (objects) RequestWatchProgress(context.Context) error { return errSingleObjects }

// GetCurrentResourceVersion implements storage.Interface.
func (objects) GetCurrentResourceVersion(context.Context) (uint64, error) {
	return 0, errSingleObjects
}

// EnableResourceSizeEstimation implements storage.Interface.
func (objects) EnableResourceSizeEstimation(storage.KeysFunc) error { return errSingleObjects }

// CompactRevision implements storage.Interface.
func (objects) CompactRevision() int64 { return 0 }
