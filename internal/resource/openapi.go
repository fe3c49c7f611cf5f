package resource

import (
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// OpenAPI describes a version of a resource: its types and its paths. Both forms
// are built when they are first asked for; the documents are immutable.
type OpenAPI struct {
	V3 func() (*spec3.OpenAPI, error)
	V2 func() (*spec.Swagger, error)
}
