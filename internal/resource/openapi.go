package resource

import (
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// OpenAPI describes a version of a resource: its types and its paths. Each of the two forms
// is built when it is first needed. The documents are immutable.
type OpenAPI struct {
	V3 func() (*spec3.OpenAPI, error)
	V2 func() (*spec.Swagger, error)
}
