package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/write"
)

// verbs are the verbs of objects and collections, under the names of upstream's RequestInfo.
func (h *handler) verbs() map[string]verb {
	return map[string]verb{
		"get":              get,
		"list":             list,
		"watch":            watches{&h.frames, h.cluster.Closing, h.maxWatches(), h.watchTimeout, &h.watches, h.cluster.Faults}.watch,
		"create":           create,
		"update":           update,
		"patch":            patch,
		"delete":           deletes{h.mayIgnoreReadErrors}.deleteOne,
		"deletecollection": deletecollection,
	}
}

// subresourceVerbs are the verbs of subresources.
func (h *handler) subresourceVerbs() map[string]verb {
	return map[string]verb{
		"create": act,
		"get":    get,
		"update": update,
		"patch":  patch,
	}
}

// resources serves the paths of resources.
type resources struct {
	handler      *handler
	verbs        map[string]verb
	subresources map[string]verb // verbs of subresources
	counts       *requestCounts
}

// ServeHTTP implements http.Handler.
func (s resources) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r := &request{http: req, ctx: req.Context(), info: infoOf(req), handler: s.handler, cluster: s.handler.cluster, registry: s.handler.cluster.Registry()}
	r.counted = counted{ResponseWriter: w, request: r, by: s.counts}
	r.w = &r.counted
	defer func() { r.counted.count.end(req) }()
	r.struck = contextOf(req).struck
	err := s.serve(r)
	if errors.Is(err, write.ErrNotServed) {
		err = routerOf(r.registry.Group(r.info.APIGroup).Routing).unknownPath()
	}
	reportUnsupported(r.cluster.Messages, err)
	if err = orTimeout(req.Context(), err); err != nil {
		writeError(r.w, req, err)
	}
}

// serve looks the resource up and calls the verb.
func (s resources) serve(r *request) error {
	if err := r.findVersion(); err != nil {
		return err
	}
	if r.version.Resource.Unusable {
		return apierrors.NewInternalError(errors.New("error resolving resource"))
	}
	serve, err := r.router().find(s, r)
	if err != nil {
		return err
	}
	if err := r.router().checkMediaTypes(r); err != nil {
		return err
	}
	r.router().found(r)
	if err := r.router().checkPlace(r); err != nil {
		return err
	}
	if connection := r.connection(); connection == nil || connection.View == nil {
		if r.form, err = r.negotiate(); err != nil {
			return err
		}
	}
	if invalid := content.IsPathSegmentName(r.info.Name); len(invalid) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", r.info.Name, strings.Join(invalid, ";")))
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	return serve(r)
}

// deprecated warns the client that the version is deprecated, and reports it to the audit event.
func (r *request) deprecated() {
	observe.From(r.ctx).Deprecated(r.version)
	for _, text := range r.version.Warnings {
		warning.AddWarning(r.ctx, "", text)
	}
}

// findVersion finds what the path names in the registry.
func (r *request) findVersion() error {
	group := r.registry.Group(r.info.APIGroup)
	if group == nil || (r.info.APIPrefix == "api") != (r.info.APIGroup == "") {
		return errUnknownPath
	}
	res := r.registry.Resource(r.info.APIGroup, r.info.Resource)
	if !group.Serves(r.info.APIVersion) || res == nil || !routerOf(res.Routing).inScope(r, res) {
		return routerOf(group.Routing).unknownPath()
	}
	if r.version = group.Routed(res, r.info.APIVersion); r.version == nil {
		return routerOf(group.Routing).unknownPath()
	}
	return nil
}
