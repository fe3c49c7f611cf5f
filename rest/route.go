package rest

import (
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// methods maps HTTP methods to the verbs that they stand for at a path.
type methods map[string]string

// The methods of kinds with routes. At a path without a namespace, a namespaced kind has only allNamespaces.
var (
	collection    = methods{http.MethodGet: "list", http.MethodPost: "create", http.MethodDelete: "deletecollection"}
	allNamespaces = methods{http.MethodGet: "list"}
	object        = methods{http.MethodGet: "get", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}
	below         = methods{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}
	watched       = methods{http.MethodGet: "watch"}
)

// route returns the handler of a request for a kind with routes. As in upstream's installer, there is a
// route for each verb of the kind and each of its subresources; a path without any is 404, and a
// method without one at a path that has others is 405.
func (s resources) route(r *request) (verb, error) {
	res, parts := r.version.Resource, r.info.Parts
	special, inNamespace := r.beforeResource()
	var verbs methods
	switch everywhere := res.Namespaced && !inNamespace; {
	case inNamespace && !res.Namespaced, everywhere && len(parts) > 1:
		return nil, unknownPath(res.Routing)
	case special && (r.info.Verb != "watch" || len(parts) > 2):
		return nil, unknownPath(res.Routing)
	case special:
		verbs = watched
	case everywhere:
		verbs = allNamespaces
	case len(parts) == 1:
		verbs = collection
	case len(parts) == 2:
		verbs = object
	default:
		return s.routeBelow(r)
	}
	name, err := verbs.verbOf(r, res.Verbs)
	if err != nil {
		return nil, err
	}
	if name == "list" && r.info.Verb == "watch" { // ?watch=true
		name = "watch"
	}
	if r.version.Unstored.Computed != nil {
		return computedVerbs[name], nil
	}
	return s.verbs[name], r.checkPlace(name)
}

// routeBelow returns the handler of a request for a subresource.
func (s resources) routeBelow(r *request) (verb, error) {
	subresource := r.version.Subresource[r.info.Parts[2]]
	longer := len(r.info.Parts) > 3
	if subresource == nil || longer && (subresource.Connection == nil || !subresource.Connection.TakesPath()) {
		return nil, unknownPath(r.version.Resource.Routing)
	}
	if subresource.Connection != nil {
		if !slices.Contains(subresource.Connection.Methods(), r.http.Method) {
			return nil, unknownMethod()
		}
		return connect, r.checkPlace("connect")
	}
	name, err := below.verbOf(r, subresource.Verbs)
	if err != nil {
		return nil, err
	}
	return s.subresources[name], r.checkPlace(name)
}

// verbOf returns the verb of the request's method, if it is one of those that are served.
func (m methods) verbOf(r *request, served []string) (string, error) {
	if verb, ok := m[r.http.Method]; ok && slices.Contains(served, verb) {
		return verb, nil
	}
	for _, verb := range m {
		if slices.Contains(served, verb) {
			return "", unknownMethod()
		}
	}
	return "", unknownPath(r.version.Resource.Routing)
}

// beforeResource reports what is between the version and the resource in the path: a special verb
// (watch, or the former proxy), and a namespace. In /api/v1/watch/namespaces/default/pods/a these are
// three segments, and info.Parts begins at pods.
func (r *request) beforeResource() (special, inNamespace bool) {
	version := 2 // api/VERSION
	if r.info.APIPrefix == "apis" {
		version = 3
	}
	segments := strings.Count(strings.Trim(r.http.URL.Path, "/"), "/") + 1
	between := segments - version - len(r.info.Parts)
	return between%2 == 1, between >= 2
}

// checkPlace rejects an empty name or namespace in a path that has a place for it, such as /api/v1/nodes//status.
// A list or watch without a namespace is of all namespaces, and a create fails validation.
func (r *request) checkPlace(verb string) error {
	switch {
	case verb == "list" || verb == "watch":
		return nil
	case len(r.info.Parts) > 1 && r.info.Name == "":
		return apierrors.NewBadRequest("name must be provided")
	case r.version.Resource.Namespaced && r.info.Namespace == "" && (verb != "create" || len(r.info.Parts) > 1):
		return apierrors.NewBadRequest("Namespace parameter required.")
	}
	return nil
}
