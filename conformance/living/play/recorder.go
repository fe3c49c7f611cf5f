package play

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// recorder watches a cluster.
type recorder struct {
	// changed has room for one: something has changed.
	changed  chan struct{}
	watching sync.WaitGroup
	watches  []watch.Interface

	mu   sync.Mutex
	now  map[string]map[string]*unstructured.Unstructured // by kind, and by namespace and name
	seen map[types.UID]*unstructured.Unstructured         // the last state of each object that has ever been there
	last time.Time                                        // of a change
	ends error                                            // a watch has ended
}

// newRecorder returns a recorder that has seen all objects.
func newRecorder(ctx context.Context, client dynamic.Interface) (*recorder, error) {
	r := &recorder{changed: make(chan struct{}, 1), now: map[string]map[string]*unstructured.Unstructured{}, seen: map[types.UID]*unstructured.Unstructured{}, last: time.Now()}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		r.now[name] = map[string]*unstructured.Unstructured{}
		resource := client.Resource(kinds[name].GroupVersionResource)
		list, err := resource.List(ctx, metav1.ListOptions{})
		if err != nil {
			r.close()
			return nil, fmt.Errorf("list %s: %w", name, err)
		}
		for i := range list.Items {
			r.take(name, watch.Added, &list.Items[i])
		}
		watcher, err := resource.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion(), TimeoutSeconds: new(int64(3600))})
		if err != nil {
			r.close()
			return nil, fmt.Errorf("watch %s: %w", name, err)
		}
		r.watches = append(r.watches, watcher)
		r.watching.Go(func() {
			for e := range watcher.ResultChan() {
				object, ok := e.Object.(*unstructured.Unstructured)
				if !ok || e.Type == watch.Error {
					break
				}
				r.take(name, e.Type, object)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ends = fmt.Errorf("the watch of %s has ended", name)
		})
	}
	return r, nil
}

// close ends the watches.
func (r *recorder) close() {
	for _, w := range r.watches {
		w.Stop()
	}
	r.watching.Wait()
}

// take takes over an event.
func (r *recorder) take(kind string, what watch.EventType, object *unstructured.Unstructured) {
	key := object.GetNamespace() + "/" + object.GetName()
	r.mu.Lock()
	if what == watch.Deleted {
		delete(r.now[kind], key)
	} else {
		r.now[kind][key] = object
	}
	r.seen[object.GetUID()] = object
	r.last = time.Now()
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// objects returns the objects of a kind in a namespace, ordered by name.
func (r *recorder) objects(kind, namespace string) []*unstructured.Unstructured {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*unstructured.Unstructured
	for _, key := range slices.Sorted(maps.Keys(r.now[kind])) {
		if object := r.now[kind][key]; object.GetNamespace() == namespace {
			found = append(found, object)
		}
	}
	return found
}

// wait returns when a condition holds, and nothing has changed for a while. It returns false if that takes too long.
func (r *recorder) wait(ctx context.Context, quiet, limit time.Duration, until func() bool) (bool, error) {
	r.mu.Lock()
	r.last = time.Now() // what the caller has done before may not be here yet
	r.mu.Unlock()
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		r.mu.Lock()
		rest, err := quiet-time.Since(r.last), r.ends
		r.mu.Unlock()
		holds := until == nil || until()
		switch {
		case err != nil:
			return false, err
		case holds && rest <= 0:
			return true, nil
		case !holds:
			rest = limit
		}
		timer.Reset(rest)
		select {
		case <-r.changed:
		case <-timer.C:
		case <-timeout.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
