package rest

import (
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// oneHandler is the router of resource.OneHandler.
type oneHandler struct{}

// inScope implements router: the path names a namespace if the resource is namespaced, and none
// if it is not. A list or watch may leave it out.
func (oneHandler) inScope(r *request, res *resource.Resource) bool {
	if !res.Namespaced {
		return r.info.Namespace == ""
	}
	return r.info.Namespace != "" || r.info.Verb == "list" || r.info.Verb == "watch"
}

// find implements router. The one handler of a real server gets the request whether it serves the verb or
// not, so the client is warned of a deprecated version.
func (oneHandler) find(s resources, r *request) (verb, error) {
	r.deprecated()
	name := r.info.Verb
	serve := s.verbs[name]
	if r.info.Subresource != "" {
		subresource := r.version.Subresource[r.info.Subresource]
		if subresource == nil {
			return nil, apierrors.NewNotFound(r.version.Resource.GroupResource(), r.info.Name)
		}
		serve = s.subresources[name]
		if !slices.Contains(subresource.Verbs, name) {
			serve = nil
		}
	}
	if serve == nil {
		return nil, apierrors.NewMethodNotSupported(r.version.Resource.GroupResource(), name)
	}
	return serve, nil
}

// checkMediaTypes implements router. The handler of a patch looks at the media type first.
func (oneHandler) checkMediaTypes(r *request) error {
	if r.info.Verb != "patch" {
		return nil
	}
	_, err := r.patchType()
	return err
}

// checkPlace implements router.
func (oneHandler) checkPlace(r *request) error {
	if r.info.Name == "" && (r.info.Verb == "update" || r.info.Verb == "patch") {
		return apierrors.NewBadRequest("name must be provided")
	}
	return nil
}

func (oneHandler) found(*request)                    {}
func (oneHandler) unknownPath() error                { return errUnknownPath }
func (oneHandler) checkDocument(*http.Request) error { return nil }
