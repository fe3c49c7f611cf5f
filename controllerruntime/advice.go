package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// advised adds advice to an error that comes from a usual mistake.
func advised(err error) error {
	switch {
	case err == nil:
		return nil
	case contains(err, meta.IsNoMatchError):
		return fmt.Errorf(`%w; if its definition is missing, start the cluster with fakecluster.WithCRDPaths("config/crd")`, err)
	case contains(err, runtime.IsNotRegisteredError):
		return fmt.Errorf("%w; register the type: write controllerruntime.WithScheme(scheme), with a scheme that has the types of client-go, "+
			"clientgoscheme.AddToScheme(scheme), and of the package of the type, as v1.AddToScheme(scheme)", err)
	}
	return err
}

// contains reports whether a rule holds for an error, or for an error that it wraps.
func contains(err error, rule func(error) bool) bool {
	if err == nil || rule(err) {
		return err != nil
	}
	switch wrapping := err.(type) {
	case interface{ Unwrap() error }:
		return contains(wrapping.Unwrap(), rule)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(wrapping.Unwrap(), func(err error) bool { return contains(err, rule) })
	}
	return false
}

// advisingCache is a cache that logs why it has no informer for a kind, because a controller logs such errors
// only to the logger of the process while its manager waits for two minutes. Its reads wait until the manager
// has started the cache.
type advisingCache struct {
	cache.Cache
	log     func(line string)
	running *atomic.Bool // whether the manager runs
}

// Get implements client.Reader.
func (c advisingCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	return c.whenStarted(ctx, func() error { return c.Cache.Get(ctx, key, obj, options...) })
}

// List implements client.Reader.
func (c advisingCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.whenStarted(ctx, func() error { return c.Cache.List(ctx, list, options...) })
}

// whenStarted repeats a read until the manager has started its cache, because Run returns before that.
func (c advisingCache) whenStarted(ctx context.Context, read func() error) error {
	for {
		err := read()
		if _, early := errors.AsType[*cache.ErrCacheNotStarted](err); !early || !c.running.Load() {
			return err
		}
		pause := time.NewTimer(time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}

// GetInformer implements cache.Informers.
func (c advisingCache) GetInformer(ctx context.Context, obj client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, options...)
	c.failed(fmt.Sprintf("%T", obj), err)
	return informer, err
}

// GetInformerForKind implements cache.Informers.
func (c advisingCache) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, options ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformerForKind(ctx, kind, options...)
	c.failed(kind.String(), err)
	return informer, err
}

func (c advisingCache) failed(kind string, err error) {
	if with := advised(err); with != err {
		c.log(fmt.Sprintf("the cache cannot watch %s: %v", kind, with))
	}
}

// advising returns a function that creates caches as newCache does, as advisingCaches.
func advising(newCache cache.NewCacheFunc, log func(line string), running *atomic.Bool) cache.NewCacheFunc {
	if newCache == nil {
		newCache = cache.New
	}
	return func(cfg *rest.Config, options cache.Options) (cache.Cache, error) {
		c, err := newCache(cfg, options)
		if err != nil {
			return nil, err
		}
		return advisingCache{c, log, running}, nil
	}
}
