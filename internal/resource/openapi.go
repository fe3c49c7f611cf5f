package resource

import (
	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/runtime"
	apiopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// OpenAPI describes a version of a resource: its types and its paths.
type OpenAPI struct {
	// Server describes the kind by its Go types; nil: V3 and V2 describe it.
	Server *OpenAPIServer

	// Schemas returns the schemas of the kind and of all types that it refers to, by name; nil: they are in V3.
	Schemas func() (map[string]*spec.Schema, error)

	// V3 and V2 return the two forms of the description. Each is created when it is first needed, and is immutable.
	V3 func() (*spec3.OpenAPI, error)
	V2 func() (*spec.Swagger, error)
}

// SchemasOf returns the schemas of the kind and of all types that it refers to, by name. They must
// not be altered.
func (o *OpenAPI) SchemasOf() (map[string]*spec.Schema, error) {
	if o.Schemas != nil {
		return o.Schemas()
	}
	document, err := o.V3()
	if err != nil || document.Components == nil {
		return nil, err
	}
	return document.Components.Schemas, nil
}

// OpenAPIServer is one of the servers of which a real API server consists. Each has its own scheme, and describes the
// kinds in it by their Go types.
type OpenAPIServer struct {
	// Scheme has the types of the kinds, and those of the options of requests.
	Scheme func() *runtime.Scheme
	// Order is the place of the server's OpenAPI v2 when those of all servers are merged.
	Order int
	// Definitions: the OpenAPI v2 of custom resources is merged into that of this server first.
	Definitions bool
	// Install adds paths of the server besides kinds, discovery and its version; nil: none.
	Install func(*restful.Container)
}

// OpenAPITypes describes the Go types of all servers. All clusters share the results of the functions, which must not be
// altered.
type OpenAPITypes struct {
	// V3 and V2 return the definitions of the types, with the references of OpenAPI v3 and v2.
	V3, V2 func() map[string]common.OpenAPIDefinition
	// Names returns the names and kinds of the types.
	Names func() *apiopenapi.DefinitionNamer
}
