package openapi

import (
	"net/http"
	"sync"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	apiopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/openapiconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// versionPath is the path below /openapi/v3 of the document that describes /version.
const versionPath = "version"

// ofVersion describes /version. All clusters share the document.
var ofVersion = &resource.OpenAPI{
	V2: sync.OnceValues(describeVersion),
	V3: sync.OnceValues(func() (*spec3.OpenAPI, error) {
		document, err := describeVersion()
		if err != nil {
			return nil, err
		}
		return openapiconv.ConvertV2ToV3(document), nil
	}),
}

func describeVersion() (*spec.Swagger, error) {
	service := new(restful.WebService).Path("/version")
	service.Route(service.GET("/").To(func(*restful.Request, *restful.Response) {}).
		Doc("get the version information for this server").Operation("getCodeVersion").
		Consumes(restful.MIME_JSON).Produces(restful.MIME_JSON).Writes(version.Info{}))
	container := restful.NewContainer()
	container.Add(service)
	return builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(container.RegisteredWebServices()), &common.Config{
		Info: info(),
		//lint:ignore SA1019 the real server's function is of this form
		GetOperationIDAndTags: apiopenapi.GetOperationIDAndTags,
		GetDefinitionName:     apiopenapi.NewDefinitionNamer(runtime.NewScheme()).GetDefinitionName,
		GetDefinitions:        openapi.GetOpenAPIDefinitions,
		CommonResponses: map[int]spec.Response{
			http.StatusUnauthorized: {ResponseProps: spec.ResponseProps{Description: "Unauthorized"}},
		},
	})
}
