package resource

// Routing is how requests are routed to a resource, and how the others are rejected.
type Routing int

const (
	// RoutePerVerb is the routing of built-in kinds. A real server has a route for each verb of Resource.Verbs and
	// Subresource.Verbs, at its own path. A request that matches none is rejected with a Status in the words of HTTP:
	// "404: Page Not Found", "405: Method Not Allowed". The discovery documents of the group accept GET only.
	RoutePerVerb Routing = iota

	// OneHandler is the routing of custom resources, for which a real server has a single handler:
	//
	//   - Each verb is served at any path: a POST to the path of an object is a create, and segments after a
	//     subresource are ignored. HEAD is served as GET.
	//   - An error names the resource. For a missing verb it is "delete is not supported on resources of kind …", for a
	//     missing subresource that the object is not found.
	//   - Any other path of the group is answered with the text "404 page not found".
	//   - The discovery documents of the group are served for any HTTP method.
	OneHandler
)
