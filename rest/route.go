package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/internal/discovery"
	"github.com/fakecluster/fakecluster/internal/openapi"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
)

// request is one request for a resource, on its way to its verb.
type request struct {
	*Server
	*http.Request

	w           http.ResponseWriter
	ctx         context.Context
	info        *apirequest.RequestInfo
	catalogue   *resource.Catalogue
	version     *resource.Version
	subresource *resource.Subresource // nil for the object itself
	output      view.Form
	body        []byte
	bodyRead    bool
}

// handler serves one verb. The error it returns is the answer, if it is not nil;
// then nothing has been written yet.
type handler func(*request) error

// handlers are the verbs of objects and collections.
var handlers = map[string]handler{
	"get":    (*request).get,
	"list":   (*request).list,
	"watch":  (*request).watch,
	"create": (*request).create,
	"update": (*request).update,
	"patch":  (*request).patch,
	"delete": (*request).delete,

	"deletecollection": (*request).deletecollection,
}

// subresourceHandlers are the verbs of subresources.
var subresourceHandlers = map[string]handler{
	"get":    (*request).get,
	"update": (*request).update,
	"patch":  (*request).patch,
}

// route finds out what a request asks for and has it served.
func (s *Server) route(w http.ResponseWriter, req *http.Request) {
	var audited *auditedWriter
	if s.trail != nil {
		var finish func()
		audited, req, finish = s.trail.begin(w, req)
		defer finish()
		w = audited
	}
	user, ok := s.authenticate(req)
	if !ok {
		if info, err := s.paths.NewRequestInfo(req); err == nil {
			s.describe(req.Context(), req, nil, info)
		}
		writeError(w, req, apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	if err := checkTimeout(req); err != nil {
		writeError(w, req, err)
		return
	}
	if strings.HasPrefix(req.URL.Path, "//") {
		http.NotFound(w, req)
		return
	}
	info, err := s.paths.NewRequestInfo(req)
	if err != nil {
		responsewriters.InternalError(w, req, fmt.Errorf("failed to create RequestInfo: %w", err))
		return
	}
	s.describe(req.Context(), req, user, info)
	if !info.IsResourceRequest {
		s.routePath(w, req)
		return
	}
	if audited != nil {
		audited.longRunning = info.Verb == "watch"
	}
	ctx := apirequest.WithRequestInfo(req.Context(), info)
	ctx = apirequest.WithUser(ctx, user)
	ctx = warning.WithWarningRecorder(ctx, &warnings{header: w.Header()})
	r := &request{Server: s, Request: req, w: w, ctx: ctx, info: info}
	err = r.serve()
	if errors.Is(err, write.ErrNotServed) {
		err = r.notRouted(r.catalogue.Group(info.APIGroup))
	}
	if err != nil {
		writeError(w, req, err)
	}
}

// checkTimeout refuses a timeout that cannot be read. What may take as long as one
// keeps to it: withDeadline.
func checkTimeout(req *http.Request) error {
	if !strings.Contains(req.URL.RawQuery, "timeout=") {
		return nil
	}
	timeout := req.URL.Query().Get("timeout")
	if timeout == "" {
		return nil
	}
	if _, err := time.ParseDuration(timeout); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %v", err))
	}
	return nil
}

// routePath serves the paths that are no resources.
func (s *Server) routePath(w http.ResponseWriter, req *http.Request) {
	c := s.catalogue.Load()
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case req.URL.Path == "/version" || req.URL.Path == "/version/":
		discovery.ServeVersion(w, req)
	case req.URL.Path == "/":
		discovery.ServeIndex(w, req, c)
	case parts[0] == "openapi":
		s.documents(c).ServeHTTP(w, req)
	case parts[0] == "api" || parts[0] == "apis":
		s.routeDiscovery(w, req, c, parts)
	default:
		http.NotFound(w, req)
	}
}

// documents are the OpenAPI documents of a catalogue. Those of the last one that
// was asked for are kept, and what they have in common with the next one.
func (s *Server) documents(c *resource.Catalogue) *openapi.Documents {
	before := s.openAPI.Load()
	if before != nil && before.Of(c) {
		return before
	}
	d := openapi.New(c, before)
	s.openAPI.Store(d)
	return d
}

// routeDiscovery serves the documents under /api and /apis. Those of built-in
// groups are routes like any other; those of custom groups ignore the method.
func (s *Server) routeDiscovery(w http.ResponseWriter, req *http.Request, c *resource.Catalogue, parts []string) {
	name := ""
	if parts[0] == "apis" && len(parts) > 1 {
		name = parts[1]
	}
	group := c.Group(name)
	builtin := group != nil && group.Builtin
	if discovery.ServeAggregated(w, req, c) {
		return
	}
	if req.Method == http.MethodGet && discovery.ServeCore(w, req, c, parts) {
		return
	}
	switch obj := discovery.Document(c, parts); {
	case obj == nil && builtin:
		writeError(w, req, noSuchRoute())
	case obj == nil:
		http.NotFound(w, req)
	case builtin && req.Method != http.MethodGet:
		writeError(w, req, noSuchMethod())
	default:
		writeObject(w, req, http.StatusOK, obj)
	}
}

// serve looks the resource up and calls the verb.
func (r *request) serve() error {
	r.catalogue = r.Server.catalogue.Load()
	group := r.catalogue.Group(r.info.APIGroup)
	if group == nil || (r.info.APIPrefix == "api") != (r.info.APIGroup == "") {
		http.NotFound(r.w, r.Request)
		return nil
	}
	if !group.Serves(r.info.APIVersion) {
		return r.notRouted(group)
	}
	res := r.catalogue.Resource(r.info.APIGroup, r.info.Resource)
	if res == nil || !r.inScope(res) {
		return r.notRouted(group)
	}
	r.version = res.Version(r.info.APIVersion)
	if r.version == nil || !r.version.Served {
		return r.notRouted(group)
	}
	r.logDeprecation()
	for _, text := range r.version.Warnings {
		warning.AddWarning(r.ctx, "", text)
	}
	r.ctx = apirequest.WithNamespace(r.ctx, r.info.Namespace)
	h, err := r.handler()
	if err != nil {
		return err
	}
	if invalid := content.IsPathSegmentName(r.info.Name); len(invalid) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", r.info.Name, strings.Join(invalid, ";")))
	}
	if r.output, err = r.negotiate(); err != nil {
		return err
	}
	return r.withDeadline(h)
}

// inScope tells whether the path names a namespace exactly if the resource has
// them; a list or watch may go across all.
func (r *request) inScope(res *resource.Resource) bool {
	if !res.Namespaced {
		return r.info.Namespace == "" || res.Group == "" && res.Names.Plural == "namespaces"
	}
	return r.info.Namespace != "" || r.info.Verb == "list" || r.info.Verb == "watch"
}

// notRouted answers for what no resource answers.
func (r *request) notRouted(group *resource.Group) error {
	if group.Builtin {
		return noSuchRoute()
	}
	http.NotFound(r.w, r.Request)
	return nil
}

// handler finds the verb of the resource or subresource.
func (r *request) handler() (handler, error) {
	res := r.version.Resource
	custom := !r.version.Typed
	if r.info.Subresource == "" {
		r.subresource = nil
		verb := r.info.Verb
		h := handlers[verb]
		if h == nil || !custom && (!slices.Contains(res.Verbs, verb) || r.Method == http.MethodHead || !fitsPath(verb, r.info.Parts)) {
			return nil, r.refuseVerb(custom)
		}
		if r.info.Name == "" && (verb == "update" || verb == "patch") {
			return nil, apierrors.NewBadRequest("name must be provided")
		}
		return h, nil
	}
	r.subresource = r.version.Subresource[r.info.Subresource]
	if r.subresource == nil {
		if custom {
			return nil, apierrors.NewNotFound(res.GroupResource(), r.info.Name)
		}
		return nil, noSuchRoute()
	}
	h := subresourceHandlers[r.info.Verb]
	if h == nil || !slices.Contains(r.subresource.Verbs, r.info.Verb) {
		return nil, r.refuseVerb(custom)
	}
	return h, nil
}

// fitsPath tells whether a built-in resource has the verb at its collection or
// at an object, whichever the path names.
func fitsPath(verb string, parts []string) bool {
	switch verb {
	case "create", "list", "deletecollection":
		return len(parts) == 1
	case "get", "update", "patch", "delete":
		return len(parts) > 1
	}
	return true
}

func (r *request) refuseVerb(custom bool) error {
	if custom {
		return apierrors.NewMethodNotSupported(r.version.Resource.GroupResource(), r.info.Verb)
	}
	return noSuchMethod()
}
