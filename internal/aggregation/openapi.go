package aggregation

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/openapiconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/openapi"
)

// specTimeout is the time limit for the OpenAPI of a server.
const specTimeout = time.Minute

const (
	pathV2 = "/openapi/v2"
	pathV3 = "/openapi/v3"
)

// ServeOpenAPI answers requests below /openapi with the documents of all servers. own are those of this server.
func (p *Proxy) ServeOpenAPI(w http.ResponseWriter, req *http.Request, own *openapi.Documents) {
	servers := p.Servers()
	if len(servers) == 0 {
		own.ServeHTTP(w, req)
		return
	}
	switch path := req.URL.Path; {
	case path == pathV2:
		h, err := p.merged(req.Context(), servers, own)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h.ServeHTTP(w, req)
	case path == pathV3:
		p.serveIndex(w, req, servers, own)
	case strings.HasPrefix(path, pathV3+"/"):
		p.serveVersion(w, req, servers, own, strings.TrimPrefix(path, pathV3+"/"))
	default:
		own.ServeHTTP(w, req)
	}
}

// serveIndex answers with the index of OpenAPI v3: the paths of all documents.
func (p *Proxy) serveIndex(w http.ResponseWriter, req *http.Request, servers []*Server, own *openapi.Documents) {
	index, err := own.Index()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for _, s := range servers {
		for path, document := range s.index(req.Context()).Paths {
			if _, taken := index.Paths[path]; !taken || path == s.path() {
				index.Paths[path] = document
			}
		}
	}
	openapi.ServeIndex(w, req, index)
}

// path returns the path of the server's version in the index of OpenAPI v3.
func (s *Server) path() string { return strings.TrimPrefix(rootOf(s.APIService), "/") }

// index returns the index of a server. For a server without OpenAPI v3, it has a document that is converted from v2.
func (s *Server) index(ctx context.Context) handler3.OpenAPIV3Discovery {
	index, legacy := s.indexV3(ctx)
	if !legacy {
		return index
	}
	if service := s.converted(ctx); service != nil {
		var one handler3.OpenAPIV3Discovery
		if text := openapi.IndexOf(service); json.Unmarshal(text, &one) == nil {
			return one
		}
	}
	return index
}

// indexV3 returns the index of a server's OpenAPI v3; legacy is true if the server does not have it.
func (s *Server) indexV3(ctx context.Context) (index handler3.OpenAPIV3Discovery, legacy bool) {
	answer := s.fetch(ctx, describer, pathV3, "", specTimeout)
	if answer.code == http.StatusOK {
		_ = json.Unmarshal(answer.body, &index) // an invalid document does not have paths
	}
	return index, answer.code == http.StatusNotFound
}

// converted returns OpenAPI v3 that is converted from the server's v2; nil: it has none.
func (s *Server) converted(ctx context.Context) *handler3.OpenAPIService {
	document, _, err := s.describe(ctx)
	if err != nil {
		return nil
	}
	service := handler3.NewOpenAPIService()
	service.UpdateGroupVersionLazy(s.path(), cached.Static[*spec3.OpenAPI](openapiconv.ConvertV2ToV3(document), ""))
	return service
}

// serveVersion answers with an OpenAPI v3 document, from the server that has it in its index.
func (p *Proxy) serveVersion(w http.ResponseWriter, req *http.Request, servers []*Server, own *openapi.Documents, path string) {
	// Prefer the server of the version.
	slices.SortStableFunc(servers, func(a, b *Server) int { return -compare(a.path() == path, b.path() == path) })
	for _, s := range servers {
		if s.path() != path && own.Has(path) {
			break
		}
		index, legacy := s.indexV3(req.Context())
		if _, has := index.Paths[path]; has {
			p.Forward(w, req, s)
			return
		}
		if legacy && s.path() == path {
			if service := s.converted(req.Context()); service != nil {
				service.HandleGroupVersion(w, req)
				return
			}
		}
	}
	own.ServeHTTP(w, req)
}

func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// describe returns the OpenAPI v2 of the server, and a text that identifies its content.
func (s *Server) describe(ctx context.Context) (*spec.Swagger, string, error) {
	answer := s.fetch(ctx, describer, pathV2, "application/json", specTimeout)
	if answer.code != http.StatusOK {
		return nil, "", fmt.Errorf("%s has no OpenAPI: %d", s.APIService.Name, answer.code)
	}
	document := &spec.Swagger{}
	if err := document.UnmarshalJSON(answer.body); err != nil {
		return nil, "", err
	}
	return document, fmt.Sprintf("%s:%x", s.APIService.Name, sha256.Sum256(answer.body)), nil
}

// mergedDocument is the OpenAPI v2 of all servers.
type mergedDocument struct {
	own     *openapi.Documents
	others  []string // identifies the documents of the other servers
	handler http.Handler
}

// merged returns a handler for the OpenAPI v2 of all servers: all of this server's, and those parts of the others' that
// concern their versions.
func (p *Proxy) merged(ctx context.Context, servers []*Server, own *openapi.Documents) (http.Handler, error) {
	byPriority(servers)
	var names []string
	var others []*spec.Swagger
	for _, s := range servers {
		document, tag, err := s.describe(ctx)
		if err != nil {
			continue // a server that does not answer is left out
		}
		names = append(names, tag)
		others = append(others, aggregator.FilterSpecByPathsWithoutSideEffects(document, []string{rootOf(s.APIService) + "/"}))
	}
	if last := p.document.Load(); last != nil && last.own == own && slices.Equal(last.others, names) {
		return last.handler, nil
	}
	document, err := own.V2()
	if err != nil {
		return nil, err
	}
	merged := *document
	merged.Paths, merged.Definitions, merged.Parameters = nil, nil, nil
	for _, one := range append([]*spec.Swagger{document}, others...) {
		if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(&merged, one); err != nil {
			return nil, fmt.Errorf("failed to build merge specs: %v", err)
		}
	}
	service := handler.NewOpenAPIServiceLazy(cached.Static(&merged, fmt.Sprintf("%x", sha256.Sum256([]byte(fmt.Sprint(own, names))))))
	next := &mergedDocument{own: own, others: names, handler: openapi.HandlerV2(service)}
	p.document.Store(next)
	return next.handler, nil
}

// byPriority sorts servers in the order in which their documents are merged.
func byPriority(servers []*Server) {
	place := map[string]int{}
	for _, group := range helper.SortedByGroupAndVersion(apiServices(servers)) {
		for _, a := range group {
			place[a.Name] = len(place)
		}
	}
	sort.SliceStable(servers, func(i, j int) bool { return place[servers[i].APIService.Name] < place[servers[j].APIService.Name] })
}

func apiServices(servers []*Server) []*apiregistrationv1.APIService {
	services := make([]*apiregistrationv1.APIService, len(servers))
	for i, s := range servers {
		services[i] = s.APIService
	}
	return services
}
