package rest

import (
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// methods maps HTTP methods to the verbs that they stand for at a path.
type methods map[string]string

// The methods of resources with a route for each verb. At a path without a namespace, a namespaced resource
// has only allNamespaces.
var (
	collection    = methods{http.MethodGet: "list", http.MethodPost: "create", http.MethodDelete: "deletecollection"}
	allNamespaces = methods{http.MethodGet: "list"}
	object        = methods{http.MethodGet: "get", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}
	below         = methods{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}
	watched       = methods{http.MethodGet: "watch"}
)

// routePerVerb is the router of resource.RoutePerVerb.
type routePerVerb struct{}

// inScope implements router: find decides.
func (routePerVerb) inScope(*request, *resource.Resource) bool { return true }

// find implements router. As in upstream's installer, there is a
// route for each verb of the kind and each of its subresources; a path without any is 404, and a
// method without one at a path that has others is 405.
func (w routePerVerb) find(s resources, r *request) (verb, error) {
	res, parts := r.version.Resource, r.info.Parts
	special, inNamespace := r.beforeResource()
	var verbs methods
	switch everywhere := res.Namespaced && !inNamespace; {
	case inNamespace && !res.Namespaced, everywhere && len(parts) > 1:
		return nil, w.unknownPath()
	case special && (r.info.Verb != "watch" || len(parts) > 2):
		return nil, w.unknownPath()
	case special:
		verbs = watched
	case everywhere:
		verbs = allNamespaces
	case len(parts) == 1:
		verbs = collection
	case len(parts) == 2:
		verbs = object
	default:
		return w.below(s, r)
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
	return s.verbs[name], nil
}

// below returns the handler of a request for a subresource.
func (w routePerVerb) below(s resources, r *request) (verb, error) {
	subresource := r.version.Subresource[r.info.Parts[2]]
	longer := len(r.info.Parts) > 3
	if subresource == nil || longer && (subresource.Connection == nil || !subresource.Connection.TakesPath()) {
		return nil, w.unknownPath()
	}
	if subresource.Connection != nil {
		if !slices.Contains(subresource.Connection.Methods(), r.http.Method) {
			return nil, unknownMethod()
		}
		return connect, nil
	}
	name, err := below.verbOf(r, subresource.Verbs)
	if err != nil {
		return nil, err
	}
	return s.subresources[name], nil
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
	return "", routePerVerb{}.unknownPath()
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

// checkPlace implements router. An example is /api/v1/nodes//status. A list or watch without a namespace is of all
// namespaces, and a create fails validation.
func (routePerVerb) checkPlace(r *request) error {
	named := len(r.info.Parts) > 1
	switch {
	case named && r.info.Name == "":
		return apierrors.NewBadRequest("name must be provided")
	case r.version.Resource.Namespaced && r.info.Namespace == "" && r.info.Verb != "watch" && (named || r.http.Method == http.MethodDelete):
		return apierrors.NewBadRequest("Namespace parameter required.")
	}
	return nil
}

// checkMediaTypes implements router. The kind has a route for each media type that it answers with, and for each that a patch
// may have. A connection takes any. Routes are compared without parameters, so a Table in protobuf has one, and the handler
// rejects it. And application/* has none, although the handler would accept it.
func (routePerVerb) checkMediaTypes(r *request) error {
	connection := r.connection()
	if connection != nil && connection.View != nil {
		return nil
	}
	if r.info.Verb == "patch" {
		if _, err := r.patchType(); err != nil {
			return errUnsupportedMediaType
		}
	}
	isLog := connection != nil
	switch {
	case accepts(r.http, objectTypes...), isLog && accepts(r.http, "text/plain"):
		return nil
	case isLog:
		return notAvailable(slices.Concat([]string{"text/plain"}, objectTypes)...)
	case len(r.info.Parts) == 1 && r.http.Method == http.MethodGet, r.info.Verb == "watch":
		return notAvailable(slices.Concat(objectTypes, []string{"application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"})...)
	}
	return notAvailable(objectTypes...)
}

// found implements router. Here the client is warned of a deprecated version: without a route, no handler of
// a real server would get the request.
func (routePerVerb) found(r *request) { r.deprecated() }

// unknownPath implements router.
func (routePerVerb) unknownPath() error { return refusal(http.StatusNotFound, "404: Page Not Found") }

// checkDocument implements router.
func (routePerVerb) checkDocument(req *http.Request) error {
	if req.Method != http.MethodGet {
		return unknownMethod()
	}
	return checkRoute(req, objectTypes)
}
