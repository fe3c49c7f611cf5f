package builtin

import (
	"sync"

	"github.com/emicklei/go-restful/v3"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/generated/openapi"
	"k8s.io/kubernetes/pkg/routes"

	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// The servers that describe the kinds. A real API server delegates a request from one to the next.
var (
	aggregator = &resource.OpenAPIServer{Order: 0, Scheme: sync.OnceValue(func() *runtime.Scheme {
		s := runtime.NewScheme()
		apiregistration.Install(s)
		metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
		s.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{})
		return s
	})}
	controlled = &resource.OpenAPIServer{Order: 1, Scheme: func() *runtime.Scheme { return legacyscheme.Scheme }, Install: func(c *restful.Container) {
		routes.NewOpenIDMetadataServer(nil).Install(c)
	}}
)

// openAPIServer returns the server that describes the kinds of a group.
func (g *group) openAPIServer() *resource.OpenAPIServer {
	if g.scheme == aggregatorscheme.Scheme {
		return aggregator
	}
	return controlled
}

// OpenAPITypes describes the Go types of all kinds.
var OpenAPITypes = &resource.OpenAPITypes{V3: definitionsV3, V2: definitionsV2, Names: definitionNames}

// definitionNames maps Go types to the names that a real server publishes, and to kinds.
var definitionNames = sync.OnceValue(func() *apiopenapi.DefinitionNamer {
	definitions := runtime.NewScheme()
	apiextensions.Install(definitions)
	return apiopenapi.NewDefinitionNamer(legacyscheme.Scheme, definitions, aggregatorscheme.Scheme)
})

// definitionsV2 describes all types, with references as OpenAPI v2 has them.
var definitionsV2 = sync.OnceValue(func() map[string]common.OpenAPIDefinition {
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/definitions/" + common.EscapeJsonPointer(name))
	})
	release.Correct(definitions)
	return definitions
})
