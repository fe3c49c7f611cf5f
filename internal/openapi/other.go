package openapi

import (
	"net/http"

	"github.com/emicklei/go-restful/v3"
	"github.com/google/uuid"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// Service is the part of another API server below a path.
type Service struct {
	Path    string // such as "apis/GROUP/VERSION"
	Install func(*restful.Container) error
}

// HandlerOf returns a handler for requests below /openapi to another API server with a title and services. It does not
// call their handlers. It builds the documents when the first client requests them.
func HandlerOf(title string, types *resource.OpenAPITypes, services ...Service) http.Handler {
	about := &spec.Info{InfoProps: spec.InfoProps{Title: title, Version: release.Info().GitVersion}}
	v3 := handler3.NewOpenAPIService()
	var made []*service
	for _, s := range services {
		one := &service{path: s.Path, install: s.Install}
		made = append(made, one)
		v3.UpdateGroupVersionLazy(one.path, cached.Once(cached.Func(func() (*spec3.OpenAPI, string, error) {
			web, err := webServices(one)
			if err != nil {
				return nil, "", err
			}
			config := configV3(types, one)
			config.Info = about
			document, err := builder3.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(web), config)
			return document, uuid.NewString(), err
		})))
	}
	mux := http.NewServeMux()
	mux.Handle("/openapi/v2", HandlerV2(handler.NewOpenAPIServiceLazy(cached.Once(cached.Func(func() (*spec.Swagger, string, error) {
		web, err := webServices(made...)
		if err != nil {
			return nil, "", err
		}
		config := configV2(types)
		config.Info = about
		document, err := builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(web), config)
		if err != nil {
			return nil, "", err
		}
		document.Definitions = handler.PruneDefaults(document.Definitions)
		return document, uuid.NewString(), nil
	})))))
	mux.HandleFunc("/openapi/v3", v3.HandleDiscovery)
	mux.HandleFunc("/openapi/v3/", v3.HandleGroupVersion)
	return mux
}
