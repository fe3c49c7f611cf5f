package resource

// Routing says how requests find their way to a resource, and how requests that find
// nothing are refused. A real server has a route for each verb and path of its built-in
// kinds, and one handler for all custom resources, and the two answer differently. The zero
// value is for kinds with routes.
type Routing struct {
	// AnyPath serves each verb at any path: a POST to the path of an object is a create, and
	// segments behind a subresource are ignored. HEAD is served as GET. Otherwise there is a
	// route for each verb of Resource.Verbs and Subresource.Verbs, at its own path.
	AnyPath bool

	// NamedRefusals says that a refusal names what was asked for. For a missing verb it is
	// "delete is not supported on resources of kind …", for a missing subresource it says
	// that the object is not found. Otherwise refusals only say what HTTP says ("405:
	// Method Not Allowed").
	NamedRefusals bool

	// TextNotFound answers a path of the group that names nothing with the text "404 page
	// not found". Otherwise the answer is a Status.
	TextNotFound bool

	// AnyMethod serves the discovery documents of the group whatever the HTTP method is.
	AnyMethod bool
}
