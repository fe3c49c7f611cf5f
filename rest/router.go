package rest

import "github.com/fakecluster/fakecluster/internal/resource"

// router finds the verb of a request, and makes the error if there is none. There is one for each
// resource.Routing.
type router interface {
	// inScope reports whether the path may be one of the resource.
	inScope(r *request, res *resource.Resource) bool
	// find returns the handler of the verb, for the resource or subresource.
	find(s resources, r *request) (verb, error)
	// checkPatch rejects a patch of a media type that the resource does not take, unless the handler of the verb rejects it.
	checkPatch(r *request) error
	// found is called when the request has a handler and a media type.
	found(r *request)
	// unknownPath is the answer to a path that names nothing, and unknownMediaType that to a client that accepts no media type of
	// the resource. err is the answer of a handler.
	unknownPath() error
	unknownMediaType(r *request, err error) error
	// takesMethod reports whether the discovery documents of a group are served for an HTTP method.
	takesMethod(method string) bool
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
