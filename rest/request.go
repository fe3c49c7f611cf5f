package rest

import (
	"context"
	"net/http"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/server"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
)

// request is a request for a resource: the argument of every verb.
type request struct {
	http *http.Request
	w    http.ResponseWriter // counts the answer; &counted
	// ctx has the user, the audit event and the receiver of warnings. It ends
	// with the request.
	ctx  context.Context
	info *apirequest.RequestInfo // what the path names

	handler *handler
	cluster *server.Cluster // of the handler
	// registry is what is served, from the start of the request to its end.
	registry *resource.Registry
	version  *resource.Version
	form     view.Form // of the answer
	// struck is what faults do to the request; nil: nothing.
	struck *faultinjection.Struck

	sent    write.Sent // its Body is that of the request; nil: it has not been read
	counted counted
}

// namespace returns the namespace of the objects that the path names. The path of a
// namespace itself names it twice.
func (r *request) namespace() string {
	if !r.version.Resource.Namespaced {
		return ""
	}
	return r.info.Namespace
}

// key returns the store key of the object that the path names.
func (r *request) key() string { return r.version.Resource.Key(r.namespace(), r.info.Name) }

// verb serves one verb of the API. If it returns an error, it has not written anything, and the caller
// answers with the error.
type verb func(*request) error
