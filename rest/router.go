package rest

import (
	"net/http"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// router finds the verb of a request, and makes the error if there is none. There is one for each
// resource.Routing.
type router interface {
	// inScope reports whether the path may be one of the resource.
	inScope(r *request, res *resource.Resource) bool
	// find returns the handler of the verb, for the resource or subresource.
	find(s resources, r *request) (verb, error)
	// checkMediaTypes rejects the media types of a request that a real server rejects before it negotiates.
	checkMediaTypes(r *request) error
	// found is called when the request has a handler that takes its media types.
	found(r *request)
	// checkPlace rejects an empty name or namespace in a path that has a place for it.
	checkPlace(r *request) error
	// unknownPath is the answer to a path that names nothing.
	unknownPath() error
	// checkDocument rejects a request for a discovery document of a group by its method and media types.
	checkDocument(req *http.Request) error
}

// routerOf returns the router of a resource or of a group.
func routerOf(routing resource.Routing) router {
	if routing == resource.OneHandler {
		return oneHandler{}
	}
	return routePerVerb{}
}

// router returns the router of the resource.
func (r *request) router() router { return routerOf(r.version.Resource.Routing) }
