package resource

// Routing says how requests find their way to a resource, and how requests that find
// nothing are refused. A real server has a route for each verb and path of its built-in
// kinds, and one handler for all custom resources, and the two answer differently. The zero
// value is for kinds with routes.
type Routing struct {
	// AnyPath serves each verb at whatever path it is sent to: a POST to the path of an
	// object is a create. Otherwise the verbs of collections (create, list,
	// deletecollection) are served at the path of the collection, those of objects at the
	// path of an object, and none that Resource.Verbs does not have.
	AnyPath bool

	// Head serves HEAD as GET. Otherwise HEAD is a verb that the resource does not have.
	Head bool

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
