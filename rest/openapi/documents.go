package openapi

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/google/uuid"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/rest/discovery"
	"github.com/fakecluster/fakecluster/rest/resource"
)

// Documents are the OpenAPI documents of one catalogue. They are safe for
// concurrent use.
type Documents struct {
	catalogue *resource.Catalogue
	v3        *handler3.OpenAPIService
	v2        func() http.Handler
}

// New prepares the documents of a catalogue, without building any.
func New(c *resource.Catalogue) *Documents {
	d := &Documents{catalogue: c, v3: handler3.NewOpenAPIService()}
	for _, g := range c.Groups() {
		for _, name := range g.Versions {
			path := "apis/" + g.Name + "/" + name
			if g.Name == "" {
				path = "api/" + name
			}
			d.v3.UpdateGroupVersionLazy(path, cached.Once(cached.Func(func() (*spec3.OpenAPI, string, error) {
				document, err := groupVersion(g, name)
				return document, uuid.NewString(), err
			})))
		}
	}
	d.v2 = sync.OnceValue(d.serviceV2)
	return d
}

// Of tells whether the documents are those of a catalogue.
func (d *Documents) Of(c *resource.Catalogue) bool { return d.catalogue == c }

// ServeHTTP answers what is below /openapi.
func (d *Documents) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch path := strings.TrimSuffix(req.URL.Path, "/"); {
	case path == "/openapi/v2":
		d.v2().ServeHTTP(w, req)
	case path == "/openapi/v3":
		d.v3.HandleDiscovery(w, req)
	case strings.HasPrefix(path, "/openapi/v3/") && d.publishes(strings.TrimPrefix(path, "/openapi/v3/")):
		d.v3.HandleGroupVersion(w, req)
	default:
		http.NotFound(w, req)
	}
}

// publishes tells whether there is a document at a path below /openapi/v3.
func (d *Documents) publishes(path string) bool {
	if version, ok := strings.CutPrefix(path, "api/"); ok {
		return d.catalogue.Group("").Serves(version)
	}
	parts := strings.Split(path, "/")
	if len(parts) != 3 || parts[0] != "apis" {
		return false
	}
	g := d.catalogue.Group(parts[1])
	return g != nil && g.Serves(parts[2])
}

// groupVersion is the document of one version of a group.
func groupVersion(g *resource.Group, version string) (*spec3.OpenAPI, error) {
	merged := &spec3.OpenAPI{
		Version: "3.0.0", Info: info(),
		Paths:      &spec3.Paths{Paths: map[string]*spec3.Path{}},
		Components: &spec3.Components{Schemas: map[string]*spec.Schema{}},
	}
	for _, r := range g.Resources {
		v := r.Version(version)
		if v == nil || !v.Served || r.Unlisted || v.OpenAPI == nil {
			continue
		}
		document, err := v.OpenAPI.V3()
		if err != nil {
			return nil, fmt.Errorf("OpenAPI of %s: %w", v.GroupVersionResource(), err)
		}
		// The types that several refer to are the same wherever they come from.
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

// serviceV2 serves the one document of version 2.
func (d *Documents) serviceV2() http.Handler {
	service := handler.NewOpenAPIServiceLazy(cached.Once(cached.Func(func() (*spec.Swagger, string, error) {
		document, err := d.everything()
		return document, uuid.NewString(), err
	})))
	mux := http.NewServeMux()
	service.RegisterOpenAPIVersionedService("/openapi/v2", muxer{mux})
	return mux
}

// everything is all that is served, in version 2 of OpenAPI.
func (d *Documents) everything() (*spec.Swagger, error) {
	merged := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0", Info: info(),
		Paths:       &spec.Paths{Paths: map[string]spec.PathItem{}},
		Definitions: spec.Definitions{},
	}}
	for _, g := range d.catalogue.Groups() {
		for _, r := range g.Resources {
			for _, v := range r.Versions {
				if !v.Served || r.Unlisted || v.OpenAPI == nil {
					continue
				}
				document, err := v.OpenAPI.V2()
				if err != nil {
					return nil, fmt.Errorf("OpenAPI of %s: %w", v.GroupVersionResource(), err)
				}
				maps.Copy(merged.Definitions, document.Definitions)
				if document.Paths != nil {
					maps.Copy(merged.Paths.Paths, document.Paths.Paths)
				}
			}
		}
	}
	return merged, nil
}

// muxer makes a ServeMux what kube-openapi registers its handlers with.
type muxer struct{ *http.ServeMux }

func (m muxer) UnlistedHandle(path string, h http.Handler) { m.ServeMux.Handle(path, h) }
