package openapi

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/discovery"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// Documents has the OpenAPI documents of one catalogue. It is safe for concurrent use.
type Documents struct {
	catalogue *resource.Catalogue
	versions  map[string]*document // by the path below /openapi/v3
	index     func() ([]byte, error)
	merged    func() (*spec.Swagger, error)
	v2        func() http.Handler
}

// document is the document of one version of a group, or of /version.
type document struct {
	of      []*resource.OpenAPI
	service *handler3.OpenAPIService
}

// New prepares the documents of a catalogue without building any. It uses the documents of the
// previous catalogue again, which may be nil, for versions that have not changed.
func New(c *resource.Catalogue, before *Documents) *Documents {
	d := &Documents{catalogue: c, versions: map[string]*document{}}
	for _, g := range c.Groups() {
		for _, name := range g.Versions {
			path := "apis/" + g.Name + "/" + name
			if g.Name == "" {
				path = "api/" + name
			}
			d.add(path, published(g, name), before)
		}
	}
	d.add(versionPath, []*resource.OpenAPI{ofVersion}, before)
	d.index = sync.OnceValues(d.list)
	d.merged = sync.OnceValues(d.everything)
	d.v2 = sync.OnceValue(d.serviceV2)
	return d
}

// add adds the document of a path, which is that of before if it is of the same.
func (d *Documents) add(path string, of []*resource.OpenAPI, before *Documents) {
	if before != nil && before.versions[path] != nil && slices.Equal(before.versions[path].of, of) {
		d.versions[path] = before.versions[path]
		return
	}
	service := handler3.NewOpenAPIService()
	service.UpdateGroupVersionLazy(path, cached.Once(cached.Func(func() (*spec3.OpenAPI, string, error) {
		spec, err := merge(of)
		return spec, uuid.NewString(), err
	})))
	d.versions[path] = &document{of, service}
}

// Of tells whether these are the documents of a catalogue.
func (d *Documents) Of(c *resource.Catalogue) bool { return d.catalogue == c }

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

// Has tells whether there is a document at a path below /openapi/v3.
func (d *Documents) Has(path string) bool { return d.versions[path] != nil }

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

// serveIndex answers with the index as text/plain, as the real server does. The ETag is of our
// own making.
func serveIndex(w http.ResponseWriter, req *http.Request, index []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Etag", fmt.Sprintf(`"%X"`, sha512.Sum512(index)))
	http.ServeContent(w, req, "/openapi/v3", time.Time{}, bytes.NewReader(index))
}

// list makes the index: the paths of all documents, with their hashes.
func (d *Documents) list() ([]byte, error) {
	all := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
	for path, one := range d.versions {
		var index handler3.OpenAPIV3Discovery
		if err := json.Unmarshal(IndexOf(one.service), &index); err != nil {
			return nil, fmt.Errorf("OpenAPI of %s: %w", path, err)
		}
		maps.Copy(all.Paths, index.Paths)
	}
	return json.Marshal(all)
}

// IndexOf returns the index of a service of OpenAPI v3, as it sends it.
func IndexOf(service *handler3.OpenAPIService) []byte {
	var own answer
	service.HandleDiscovery(&own, &http.Request{Method: http.MethodGet, Header: http.Header{}})
	return own.Bytes()
}

// answer is a response that is kept instead of sent.
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

// published returns the OpenAPI of the resources of a group in one version.
func published(g *resource.Group, version string) []*resource.OpenAPI {
	var all []*resource.OpenAPI
	for _, r := range g.Resources {
		if v := g.Published(r, version); v != nil && v.OpenAPI != nil {
			all = append(all, v.OpenAPI)
		}
	}
	return all
}

// merge merges several documents into one.
func merge(of []*resource.OpenAPI) (*spec3.OpenAPI, error) {
	merged := &spec3.OpenAPI{
		Version: "3.0.0", Info: info(),
		Paths:      &spec3.Paths{Paths: map[string]*spec3.Path{}},
		Components: &spec3.Components{Schemas: map[string]*spec.Schema{}},
	}
	for _, one := range of {
		document, err := one.V3()
		if err != nil {
			return nil, err
		}
		if document.Info != nil && document.Info.Title != "" {
			merged.Info = document.Info // definitions have a title of their own
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

func info() *spec.Info {
	return &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: discovery.Version.GitVersion}}
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

// everything returns the OpenAPI v2 document of all that is served.
func (d *Documents) everything() (*spec.Swagger, error) {
	builtin, custom := swagger(), swagger()
	for _, g := range d.catalogue.Groups() {
		for _, r := range g.Resources {
			into := builtin
			if r.Definition.Key != "" {
				into = custom
			}
			for _, v := range r.Versions {
				if g.Published(r, v.Name) == nil || v.OpenAPI == nil {
					continue
				}
				if err := add(into, v.OpenAPI); err != nil {
					return nil, fmt.Errorf("OpenAPI of %s: %w", v.GroupVersionResource(), err)
				}
			}
		}
	}
	if err := add(builtin, ofVersion); err != nil {
		return nil, fmt.Errorf("OpenAPI of /version: %w", err)
	}
	if !overlap(builtin, custom) {
		maps.Copy(builtin.Definitions, custom.Definitions)
		maps.Copy(builtin.Paths.Paths, custom.Paths.Paths)
		return builtin, nil
	}
	// What is built in stays as it is. A definition of the same name gets another one.
	if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(builtin, custom); err != nil {
		return nil, fmt.Errorf("failed to build merge specs: %w", err)
	}
	return builtin, nil
}

// swagger is an empty document of OpenAPI v2.
func swagger() *spec.Swagger {
	return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0", Info: info(),
		Paths:       &spec.Paths{Paths: map[string]spec.PathItem{}},
		Definitions: spec.Definitions{},
	}}
}

// add adds the OpenAPI v2 of a resource to a document.
func add(to *spec.Swagger, one *resource.OpenAPI) error {
	document, err := one.V2()
	if err != nil {
		return err
	}
	maps.Copy(to.Definitions, document.Definitions)
	if document.Paths != nil {
		maps.Copy(to.Paths.Paths, document.Paths.Paths)
	}
	return nil
}

// overlap tells whether two documents have different things under the same name, as when the
// group of a custom resource is apiextensions.apis.pkg.apiextensions-apiserver.k8s.io, which
// becomes the name of a package of Kubernetes. Types that both refer to are the same.
func overlap(a, b *spec.Swagger) bool {
	for path := range b.Paths.Paths {
		if _, both := a.Paths.Paths[path]; both {
			return true
		}
	}
	for name, definition := range b.Definitions {
		if other, both := a.Definitions[name]; both && !reflect.DeepEqual(definition, other) {
			return true
		}
	}
	return false
}

// muxer lets kube-openapi register its handlers with a ServeMux.
type muxer struct{ *http.ServeMux }

func (m muxer) UnlistedHandle(path string, h http.Handler) { m.ServeMux.Handle(path, h) }
