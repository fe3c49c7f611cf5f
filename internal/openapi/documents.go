package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	crdbuilder "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Documents holds the OpenAPI documents of one registry of kinds. It is safe for concurrent use.
type Documents struct {
	registry *resource.Registry
	types    *resource.OpenAPITypes
	servers  []*server
	versions map[string]*document // by the path below /openapi/v3
	index    func() ([]byte, error)
	merged   func() (*spec.Swagger, error)
	v2       func() http.Handler
}

// document is the document of one version of a group, or of another path.
type document struct {
	described       string              // what a service describes; empty for custom resources
	customResources []*resource.OpenAPI // of custom resources
	service         *handler3.OpenAPIService
}

// New prepares the documents of a registry without building any. For versions that have not changed, it reuses before,
// the documents of the previous registry, which may be nil. types describes the kinds that have Go types; it may be nil
// if there are none.
func New(c *resource.Registry, before *Documents, types *resource.OpenAPITypes) *Documents {
	d := &Documents{registry: c, types: types, servers: servers(c), versions: map[string]*document{}}
	for _, s := range d.servers {
		for _, one := range s.services {
			if d.versions[one.path] == nil {
				d.add(one.path, document{described: s.key(types, one)}, before, func() (*spec3.OpenAPI, error) { return s.v3(types, one)() })
			}
		}
	}
	for _, g := range c.Groups() {
		for _, name := range g.Versions {
			path := pathOf(schema.GroupVersion{Group: g.Name, Version: name})
			if custom := customResources(g, name); len(custom) > 0 && d.versions[path] == nil {
				d.add(path, document{customResources: custom}, before, func() (*spec3.OpenAPI, error) { return merge(custom) })
			}
		}
	}
	d.index = sync.OnceValues(d.list)
	d.merged = sync.OnceValues(d.mergeV2)
	d.v2 = sync.OnceValue(d.serviceV2)
	return d
}

// add adds the document of a path. It reuses that of before if both describe the same.
func (d *Documents) add(path string, one document, before *Documents, build func() (*spec3.OpenAPI, error)) {
	if before != nil {
		if last := before.versions[path]; last != nil && last.described == one.described && slices.Equal(last.customResources, one.customResources) {
			d.versions[path] = last
			return
		}
	}
	one.service = handler3.NewOpenAPIService()
	one.service.UpdateGroupVersionLazy(path, cached.Once(cached.Func(func() (*spec3.OpenAPI, string, error) {
		spec, err := build()
		return spec, uuid.NewString(), err
	})))
	d.versions[path] = &one
}

// IsFor reports whether these are the documents of a registry.
func (d *Documents) IsFor(c *resource.Registry) bool { return d.registry == c }

// ServeHTTP answers requests below /openapi.
func (d *Documents) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := req.URL.Path
	if path == "/openapi/v2" {
		d.v2().ServeHTTP(w, req)
		return
	}
	if path == "/openapi/v3" {
		index, err := d.index()
		serveIndex(w, req, index, err)
		return
	}
	name, ok := strings.CutPrefix(path, "/openapi/v3/")
	if !ok {
		http.NotFound(w, req)
		return
	}
	one := d.versions[name]
	if one == nil {
		w.WriteHeader(http.StatusNotFound) // the real server sends no body
		return
	}
	one.service.HandleGroupVersion(w, req)
}

// Has reports whether there is a document at a path below /openapi/v3.
func (d *Documents) Has(path string) bool { return d.versions[path] != nil }

// Builds reports whether the first request for a path below /openapi builds documents.
func (d *Documents) Builds(path string) bool {
	name, below := strings.CutPrefix(path, "/openapi/v3/")
	return path == "/openapi/v2" || path == "/openapi/v3" || below && d.Has(name)
}

// V2 returns the document of OpenAPI v2. It must not be altered.
func (d *Documents) V2() (*spec.Swagger, error) { return d.merged() }

// Index returns the index of OpenAPI v3. The caller may change it.
func (d *Documents) Index() (handler3.OpenAPIV3Discovery, error) {
	var index handler3.OpenAPIV3Discovery
	text, err := d.index()
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	return index, err
}

// ServeIndex answers with an index of OpenAPI v3.
func ServeIndex(w http.ResponseWriter, req *http.Request, index handler3.OpenAPIV3Discovery) {
	text, err := json.Marshal(index)
	serveIndex(w, req, text, err)
}

// serveIndex answers with the index as text/plain and without an ETag, as the real server does, and like it with the
// current time as Last-Modified. Unlike there, If-Modified-Since gets no 304: the header has whole seconds, and
// definitions may change within one (or in a bubble, whose clock stands still). kubectl keeps the index on disk and
// would not see them.
func serveIndex(w http.ResponseWriter, req *http.Request, index []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	http.ServeContent(w, req, "/openapi/v3", time.Time{}, bytes.NewReader(index))
}

// list returns the index: the paths of all documents, with their hashes.
func (d *Documents) list() ([]byte, error) {
	root := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
	for path, one := range d.versions {
		var index handler3.OpenAPIV3Discovery
		if err := json.Unmarshal(IndexOf(one.service), &index); err != nil {
			return nil, fmt.Errorf("OpenAPI of %s: %w", path, err)
		}
		maps.Copy(root.Paths, index.Paths)
	}
	return json.Marshal(root)
}

// IndexOf returns the index that a service of OpenAPI v3 sends.
func IndexOf(service *handler3.OpenAPIService) []byte {
	var own answer
	service.HandleDiscovery(&own, &http.Request{Method: http.MethodGet, Header: http.Header{}})
	return own.Bytes()
}

// answer keeps a response instead of sending it.
type answer struct {
	bytes.Buffer
	header http.Header
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader implements http.ResponseWriter.
func (*answer) WriteHeader(int) {}

// customResources returns the OpenAPI of the custom resources of a group in one version.
func customResources(g *resource.Group, version string) []*resource.OpenAPI {
	var parts []*resource.OpenAPI
	for _, r := range g.Resources {
		if v := g.Published(r, version); v != nil && v.OpenAPI != nil && v.OpenAPI.V3 != nil {
			parts = append(parts, v.OpenAPI)
		}
	}
	return parts
}

// merge merges the documents of custom resources into one.
func merge(parts []*resource.OpenAPI) (*spec3.OpenAPI, error) {
	merged := &spec3.OpenAPI{
		Paths:      &spec3.Paths{Paths: map[string]*spec3.Path{}},
		Components: &spec3.Components{Schemas: map[string]*spec.Schema{}},
	}
	for _, one := range parts {
		document, err := one.V3()
		if err != nil {
			return nil, err
		}
		if merged.Version == "" {
			merged.Version, merged.Info = document.Version, document.Info
		}
		// A type that several documents refer to is the same in all of them.
		if document.Components != nil {
			maps.Copy(merged.Components.Schemas, document.Components.Schemas)
		}
		if document.Paths != nil {
			maps.Copy(merged.Paths.Paths, document.Paths.Paths)
		}
	}
	return merged, nil
}

// serviceV2 returns the service of the one document of OpenAPI v2.
func (d *Documents) serviceV2() http.Handler {
	return HandlerV2(handler.NewOpenAPIServiceLazy(cached.Once(cached.Func(func() (*spec.Swagger, string, error) {
		document, err := d.merged()
		return document, uuid.NewString(), err
	}))))
}

// HandlerV2 answers /openapi/v2 with the document of a service.
func HandlerV2(service *handler.OpenAPIService) http.Handler {
	mux := http.NewServeMux()
	service.RegisterOpenAPIVersionedService("/openapi/v2", muxer{mux})
	return mux
}

// mergeV2 returns the OpenAPI v2 document of all served kinds. Like a real server, it merges the documents of custom
// resources into that of the server of definitions, and then those of all servers.
func (d *Documents) mergeV2() (*spec.Swagger, error) {
	merged := &spec.Swagger{SwaggerProps: spec.SwaggerProps{Swagger: "2.0", Info: info()}}
	customs, err := d.customResourcesV2()
	if err != nil {
		return nil, err
	}
	add := func(document *spec.Swagger) error {
		if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(merged, document); err != nil {
			return fmt.Errorf("failed to build merge specs: %w", err)
		}
		return nil
	}
	for i, s := range d.servers {
		document, err := s.v2(d.types)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			own := *document
			own.Paths, own.Definitions, own.Parameters = nil, nil, nil
			merged = &own
		}
		if s.Definitions {
			if document, err = crdbuilder.MergeSpecs(document, customs...); err != nil {
				return nil, err
			}
			customs = nil
		}
		if err := add(document); err != nil {
			return nil, err
		}
	}
	for _, one := range customs { // definitions do not have a server
		if err := add(one); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

// customResourcesV2 returns the OpenAPI v2 of each custom resource, in all its versions.
func (d *Documents) customResourcesV2() ([]*spec.Swagger, error) {
	var parts []*spec.Swagger
	for _, g := range d.registry.Groups() {
		for _, r := range g.Resources {
			var one *spec.Swagger
			for _, v := range r.Versions {
				// If a built-in group has the same version, a real server describes both.
				if !v.Served || r.Unlisted || v.OpenAPI == nil || v.OpenAPI.V2 == nil {
					continue
				}
				document, err := v.OpenAPI.V2()
				if err != nil {
					return nil, fmt.Errorf("OpenAPI of %s: %w", v.GroupVersionResource(), err)
				}
				pruned := *document
				pruned.Definitions, pruned.Paths = handler.PruneDefaults(document.Definitions), readBack(document.Paths)
				if one == nil {
					one = &spec.Swagger{}
				}
				if one, err = crdbuilder.MergeSpecs(one, &pruned); err != nil {
					return nil, fmt.Errorf("OpenAPI of %s: %w", v.GroupVersionResource(), err)
				}
			}
			if one != nil {
				parts = append(parts, one)
			}
		}
	}
	return parts, nil
}

// muxer lets kube-openapi register its handlers with a ServeMux.
type muxer struct{ *http.ServeMux }

func (m muxer) UnlistedHandle(path string, h http.Handler) { m.ServeMux.Handle(path, h) }
