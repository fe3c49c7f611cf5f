package rest

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/fakecluster/fakecluster/internal/discovery"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/server"
)

// paths serves all requests that have passed the filters. It passes requests for resources on, and serves
// other paths itself: the version, the index, OpenAPI, discovery and so on.
type paths struct {
	resources http.Handler
	handler   *handler
	cluster   *server.Cluster // of the handler
	openAPI   *openAPI
	counts    *requestCounts
}

// ServeHTTP implements http.Handler: it serves paths of resources and other paths, and forwards
// those that another server serves.
func (p paths) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch elsewhere := p.cluster.Aggregate.Serves(req.URL.Path); {
	case strings.HasPrefix(req.URL.Path, "//"):
		http.NotFound(w, req)
	case elsewhere != nil:
		p.cluster.Aggregate.Forward(w, req, elsewhere)
	case infoOf(req).IsResourceRequest:
		p.resources.ServeHTTP(w, req)
	default:
		p.serve(w, req, p.cluster.Registry())
	}
}

func (p paths) serve(w http.ResponseWriter, req *http.Request, c *resource.Registry) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	profiling := !p.handler.options.WithoutProfiling
	document := strings.TrimRight(req.URL.Path, "/") // of those that a real server routes as it does resources
	switch {
	case document == "/version":
		if req.Method != http.MethodGet {
			writeError(w, req, unknownMethod())
		} else if err := checkRoute(req, []string{runtime.ContentTypeJSON}); err != nil {
			writeError(w, req, err)
		} else {
			discovery.ServeVersion(w, req)
		}
	case req.URL.Path == "/" || req.URL.Path == "/index.html" || req.URL.Path == "/statusz" && slices.Contains(zpages(), "/statusz"):
		p.serveIndex(w, req, c)
	case req.URL.Path == "/metrics":
		p.counts.serveMetrics(w, req)
	case isHealthCheck(req.URL.Path) || req.URL.Path == "/metrics/slis":
		p.counts.health(w, req)
	case document == issuerPath || document == keysPath:
		serveIssuer(w, req, p.cluster.Tokens)
	case strings.HasPrefix(document, "/version/"), strings.HasPrefix(document, issuerPath+"/"), strings.HasPrefix(document, keysPath+"/"):
		writeError(w, req, routePerVerb{}.unknownPath())
	case parts[0] == "openapi":
		p.serveOpenAPI(w, req, c)
	case parts[0] == "api" || parts[0] == "apis":
		p.serveDiscovery(w, req, c, parts)
	case req.URL.Path == "/flagz" && slices.Contains(zpages(), "/flagz"):
		serveFlagz(w, req, p.handler.options.Flags)
	case profiling && isProfilePath(req.URL.Path):
		profiles().ServeHTTP(w, req)
	case profiling && len(parts) > 1 && unsupportedPaths[parts[0]+"/"+parts[1]] != "":
		path := parts[0] + "/" + parts[1]
		err := notServed("/"+path, unsupportedPaths[path])
		reportUnsupported(p.cluster.Messages, err)
		writeError(w, req, err)
	default:
		http.NotFound(w, req)
	}
}

// serveIndex serves the documents that list all paths: / and /statusz.
func (p paths) serveIndex(w http.ResponseWriter, req *http.Request, c *resource.Registry) {
	registered, err := p.cluster.Aggregate.Registered()
	switch {
	case err != nil:
		writeError(w, req, err)
	case req.URL.Path == "/statusz":
		serveStatusz(w, req, pathsOf(c, registered))
	default:
		discovery.ServeIndex(w, pathsOf(c, registered))
	}
}

// pathsOf returns the paths that a real server names, except those of objects. All of them answer.
func pathsOf(c *resource.Registry, registered []*apiregistrationv1.APIService) []string {
	others := []string{issuerPath, keysPath, "/metrics", "/metrics/slis", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"}
	return discovery.Paths(c, registered, slices.Concat(others, zpages(), healthPaths())...)
}

// serveDiscovery serves the documents under /api and /apis.
func (p paths) serveDiscovery(w http.ResponseWriter, req *http.Request, c *resource.Registry, parts []string) {
	name := ""
	if parts[0] == "apis" && len(parts) > 1 {
		name = parts[1]
	}
	router := router(oneHandler{}) // of a group that is not there
	if group := c.Group(name); group != nil && (name != "" || parts[0] == "api") {
		router = routerOf(group.Routing) // the list of all groups does not look at the method either
	}
	if parts[0] == "api" && (len(parts) == 1 || len(parts) == 2 && c.Group("").Serves(parts[1])) {
		if err := router.checkDocument(req); err != nil {
			writeError(w, req, err)
			return
		}
	}
	if discovery.ServeAggregated(w, req, c, func() []discovery.Foreign { return p.cluster.Aggregate.Discover(req.Context()) }) {
		return
	}
	if req.Method == http.MethodGet && discovery.ServeCore(w, req, c, parts) {
		return
	}
	var registered []*apiregistrationv1.APIService
	if parts[0] == "apis" && len(parts) < 3 {
		var err error
		if registered, err = p.cluster.Aggregate.Registered(); err != nil {
			writeError(w, req, err)
			return
		}
	}
	// The aggregator answers requests for a group with APIServices, and looks neither at the method nor at routes.
	aggregated := name != "" && slices.ContainsFunc(registered, func(a *apiregistrationv1.APIService) bool { return a.Spec.Group == name })
	obj := discovery.Document(c, registered, parts)
	if obj == nil {
		writeError(w, req, router.unknownPath())
		return
	}
	if !aggregated {
		if err := router.checkDocument(req); err != nil {
			writeError(w, req, err)
			return
		}
	}
	writeObject(w, req, http.StatusOK, obj)
}
