// Code generated from inspect/access.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package inspect

// AccessRequest has the attributes of one or more equal requests of a user by which RBAC decides.
type AccessRequest struct {
	Verb string `json:"verb"` // such as get, list, watch, create, update, patch, delete or deletecollection
	// Group, Resource and Subresource are what the verb is for. Namespace and Name are empty
	// where the request does not have them.
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name,omitempty"`
	// Path is the path of a request that is not for a resource, such as /metrics; empty for
	// others.
	Path string `json:"path,omitempty"`
	// Allowed reports whether the request was allowed. If equal requests were both allowed and forbidden,
	// there are two AccessRequests.
	Allowed bool `json:"allowed"`
}
