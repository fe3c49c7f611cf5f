package openapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	apiopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// typesV3 keeps the documents of services, by service.key. A server has about 50.
var typesV3 = cache.New[string, func() (*spec3.OpenAPI, error)](256)

// typesV2 keeps the OpenAPI v2 of servers, by server.key. A cluster has three servers.
var typesV2 = cache.New[string, func() (*spec.Swagger, error)](16)

// key identifies services of a server by everything on which their documents depend.
func (s *server) key(types *resource.OpenAPITypes, services ...*service) string {
	var key strings.Builder
	fmt.Fprintf(&key, "%p %p", types, s.OpenAPIServer)
	for _, one := range services {
		fmt.Fprintf(&key, "\n%s", one.path)
		for _, v := range one.versions {
			r := v.Resource
			fmt.Fprintf(&key, "\n\t%s %s %s %t %t %v", r.Names.Plural, r.Names.Kind, r.Names.ListKind, r.Namespaced, v.Deletion.AnswersObject, r.Verbs)
			for _, name := range slices.Sorted(maps.Keys(v.Subresource)) {
				sub := v.Subresource[name]
				fmt.Fprintf(&key, "\n\t\t%s %s %v", name, v.KindOf(sub), sub.Verbs)
			}
		}
	}
	return key.String()
}

// v3 returns the document of a service, which all clusters share.
func (s *server) v3(types *resource.OpenAPITypes, served *service) func() (*spec3.OpenAPI, error) {
	key := s.key(types, served)
	if cached, ok := typesV3.Get(key); ok {
		return cached
	}
	return typesV3.Put(key, sync.OnceValues(func() (*spec3.OpenAPI, error) {
		services, err := webServices(served)
		if err != nil {
			return nil, err
		}
		return builder3.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services), configV3(types, served))
	}), 1)
}

// v2 returns the OpenAPI v2 of the server, which all clusters share.
func (s *server) v2(types *resource.OpenAPITypes) (*spec.Swagger, error) {
	key := s.key(types, s.services...)
	cached, ok := typesV2.Get(key)
	if !ok {
		cached = typesV2.Put(key, sync.OnceValues(func() (*spec.Swagger, error) {
			services, err := webServices(s.services...)
			if err != nil {
				return nil, err
			}
			document, err := builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services), configV2(types))
			if err != nil {
				return nil, err
			}
			document.Definitions = handler.PruneDefaults(document.Definitions)
			if !s.merges {
				document.Paths = readBack(document.Paths)
			}
			return document, nil
		}), 1)
	}
	return cached()
}

func info() *spec.Info {
	return &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: release.Info().EmulationMajor + "." + release.Info().EmulationMinor}}
}

// Clients authenticate with a token, and get 401 otherwise.
const (
	security     = "BearerToken"
	unauthorized = "Unauthorized"
)

var defaultSecurity = []map[string][]string{{security: {}}}

// configV2 configures how documents of OpenAPI v2 are built.
func configV2(types *resource.OpenAPITypes) *common.Config {
	return &common.Config{
		ProtocolList: []string{"https"},
		Info:         info(),
		SecurityDefinitions: &spec.SecurityDefinitions{security: {SecuritySchemeProps: spec.SecuritySchemeProps{
			Type: "apiKey", Name: "authorization", In: "header", Description: "Bearer Token authentication",
		}}},
		DefaultSecurity: defaultSecurity,
		DefaultResponse: &spec.Response{ResponseProps: spec.ResponseProps{Description: "Default Response."}},
		CommonResponses: map[int]spec.Response{
			http.StatusUnauthorized: {ResponseProps: spec.ResponseProps{Description: unauthorized}},
		},
		//lint:ignore SA1019 the real server's function is of this form
		GetOperationIDAndTags: apiopenapi.GetOperationIDAndTags,
		GetDefinitionName:     types.Names().GetDefinitionName,
		GetDefinitions: func(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
			return forBuilding(types.V2())
		},
	}
}

// configV3 configures how the document of a service is built.
func configV3(types *resource.OpenAPITypes, served *service) *common.OpenAPIV3Config {
	return &common.OpenAPIV3Config{
		Info: info(),
		SecuritySchemes: spec3.SecuritySchemes{security: {SecuritySchemeProps: spec3.SecuritySchemeProps{
			Type: "apiKey", Name: "authorization", In: "header", Description: "Bearer Token authentication",
		}}},
		DefaultSecurity: defaultSecurity,
		DefaultResponse: &spec3.Response{ResponseProps: spec3.ResponseProps{Description: "Default Response."}},
		CommonResponses: map[int]*spec3.Response{
			http.StatusUnauthorized: {ResponseProps: spec3.ResponseProps{Description: unauthorized}},
		},
		//lint:ignore SA1019 the real server's function is of this form
		GetOperationIDAndTags: apiopenapi.GetOperationIDAndTags,
		GetDefinitionName:     served.names(types),
		Definitions:           forBuilding(types.V3()),
	}
}

// inEveryVersion has the kinds that every version of every group has.
var inEveryVersion = map[string]bool{"DeleteOptions": true, "WatchEvent": true}

// names returns a function that maps a type to its kinds. Of the kinds in every group, it returns those of the service's
// own version and of v1.
func (s *service) names(types *resource.OpenAPITypes) func(string) (string, spec.Extensions) {
	names := types.Names()
	if len(s.versions) == 0 {
		return names.GetDefinitionName
	}
	gv := s.versions[0].GroupVersion()
	return func(typeName string) (string, spec.Extensions) {
		name, extensions := names.GetDefinitionName(typeName)
		kinds, _ := extensions["x-kubernetes-group-version-kind"].([]any)
		kinds = slices.DeleteFunc(kinds, func(kind any) bool {
			k := kind.(map[string]any)
			core := k["group"] == "" && k["version"] == "v1"
			return inEveryVersion[k["kind"].(string)] && !core && (k["group"] != gv.Group || k["version"] != gv.Version)
		})
		if len(kinds) > 0 {
			extensions["x-kubernetes-group-version-kind"] = kinds
		}
		return name, extensions
	}
}

// forBuilding returns a copy of definitions for one build of a document, because kube-openapi's builders write to the
// extensions of their definitions.
func forBuilding(definitions map[string]common.OpenAPIDefinition) map[string]common.OpenAPIDefinition {
	own := make(map[string]common.OpenAPIDefinition, len(definitions))
	for name, d := range definitions {
		d.Schema.Extensions = maps.Clone(d.Schema.Extensions)
		own[name] = d
	}
	return own
}
