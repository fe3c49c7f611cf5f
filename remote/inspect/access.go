// Code generated from inspect/access.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package inspect

// AccessRequest is what one or more requests of a user were for, as RBAC sees them.
type AccessRequest struct {
	Verb string `json:"verb"` // such as get, list, watch, create, update, patch, delete, deletecollection
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
	// Allowed reports whether the request was allowed. If that has changed, there are two
	// AccessRequests.
	Allowed bool `json:"allowed"`
}
