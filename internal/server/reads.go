package server

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// BeforeRead is a function that is called before a read. watch is the context of a watch, and nil for a get or a list.
type BeforeRead func(userAgent string, watch context.Context)

// Reads has the functions that are called before reads. The zero value has none. It is safe for concurrent use.
type Reads struct {
	mu    sync.RWMutex
	calls []*readFunc // immutable; replaced on a change
}

type readFunc struct {
	resource schema.GroupResource
	call     BeforeRead
}

// Before registers a function that is called, until stop is called, before each authorized
// get, list and watch of the resource, on the goroutine of the request. The function may send
// requests, except reads of the resource.
func (r *Reads) Before(resource schema.GroupResource, call BeforeRead) (stop func()) {
	f := &readFunc{resource, call}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(slices.Clone(r.calls), f)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = slices.DeleteFunc(slices.Clone(r.calls), func(other *readFunc) bool { return other == f })
	}
}

// Any reports whether any function is registered.
func (r *Reads) Any() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.calls) > 0
}

// Announce calls the functions of a resource before a read of it.
func (r *Reads) Announce(resource schema.GroupResource, userAgent string, watch context.Context) {
	r.mu.RLock()
	calls := r.calls
	r.mu.RUnlock()
	for _, f := range calls {
		if f.resource == resource {
			f.call(userAgent, watch)
		}
	}
}
