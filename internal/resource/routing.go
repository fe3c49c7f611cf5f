package resource

// Routing is how requests find their way to a resource, and how requests that find nothing are refused.
type Routing int

const (
	// RoutePerVerb is the routing of built-in kinds. A real server has a route for each verb of
	// Resource.Verbs and Subresource.Verbs, at its own path. A request that matches none is refused in
	// the words of HTTP, as a Status: "404: Page Not Found", "405: Method Not Allowed". The
	// discovery documents of the group take GET only.
	RoutePerVerb Routing = iota

	// OneHandler is the routing of custom resources, for which a real server has a single handler:
	//
	//   - Each verb is served at any path: a POST to the path of an object is a create, and segments
	//     behind a subresource are ignored. HEAD is served as GET.
	//   - A refusal names the resource. For a missing verb it is "delete is not supported on resources of
	//     kind …", for a missing subresource it says that the object is not found.
	//   - A path of the group that names nothing is answered with the text "404 page not found".
	//   - The discovery documents of the group are served whatever the HTTP method is.
	OneHandler
)
