package rest

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Read is a request that reads a resource.
type Read struct {
	// UserAgent is the header of that name.
	UserAgent string
	// Watch is the context of a watch, which ends with it; nil: the request is a get or a list.
	Watch context.Context
}

// reads are the functions that are called before reads. The zero value has none.
type reads struct {
	mu    sync.RWMutex
	calls []*readFunc
}

type readFunc struct {
	resource schema.GroupResource
	call     func(Read)
}

// BeforeReads registers a function that is called, until stop is called, before each authorized
// get, list and watch of the resource, on the goroutine of the request. The function may send
// requests, except reads of the resource.
func (s *Server) BeforeReads(resource schema.GroupResource, call func(Read)) (stop func()) {
	f := &readFunc{resource, call}
	s.reads.mu.Lock()
	defer s.reads.mu.Unlock()
	s.reads.calls = append(slices.Clone(s.reads.calls), f)
	return func() {
		s.reads.mu.Lock()
		defer s.reads.mu.Unlock()
		s.reads.calls = slices.DeleteFunc(slices.Clone(s.reads.calls), func(other *readFunc) bool { return other == f })
	}
}

// announceReads calls the functions of BeforeReads.
func (s *Server) announceReads(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.reads.mu.RLock()
		calls := s.reads.calls // never altered
		s.reads.mu.RUnlock()
		if len(calls) > 0 {
			if info := infoOf(req); info.IsResourceRequest && slices.Contains([]string{"get", "list", "watch"}, info.Verb) {
				read := Read{UserAgent: req.UserAgent()}
				if info.Verb == "watch" {
					read.Watch = req.Context()
				}
				for _, f := range calls {
					if f.resource.Group == info.APIGroup && f.resource.Resource == info.Resource {
						f.call(read)
					}
				}
			}
		}
		next.ServeHTTP(w, req)
	})
}
