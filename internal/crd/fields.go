package crd

import (
	"encoding/json"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// typeConverters caches the types of definitions for server-side apply, by the JSON of the spec.
var typeConverters = cache.New[cache.ID, managedfields.TypeConverter](256)

// typeConverter returns the types of a definition, from its OpenAPI as upstream does. If that fails, types are deduced
// from the objects.
func typeConverter(definition string) (managedfields.TypeConverter, error) {
	return typeConverters.Make(cache.NewID(specOf(definition)), 1, func() (managedfields.TypeConverter, error) { return newTypeConverter(definition) })
}

func newTypeConverter(definition string) (managedfields.TypeConverter, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal([]byte(definition), &crd); err != nil {
		return nil, fmt.Errorf("reading the definition: %w", err)
	}
	if spec, err := openAPI(&crd); err == nil {
		return managedfields.NewTypeConverter(spec.Components.Schemas, crd.Spec.PreserveUnknownFields)
	}
	return managedfields.NewDeducedTypeConverter(), nil
}

// openAPI returns one OpenAPI document for all versions of a definition.
func openAPI(crd *apiextensionsv1.CustomResourceDefinition) (*spec3.OpenAPI, error) {
	var specs []*spec3.OpenAPI
	for _, v := range crd.Spec.Versions {
		spec, err := builder.BuildOpenAPIV3(crd, v.Name, builder.Options{})
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	return builder.MergeSpecsV3(specs...)
}

// publish returns the OpenAPI of a version of a definition.
func publish(definition, version string) *resource.OpenAPI {
	read := func() (*apiextensionsv1.CustomResourceDefinition, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		err := json.Unmarshal([]byte(definition), &crd)
		return &crd, err
	}
	return &resource.OpenAPI{
		V3: sync.OnceValues(func() (*spec3.OpenAPI, error) {
			crd, err := read()
			if err != nil {
				return nil, err
			}
			document, err := builder.BuildOpenAPIV3(crd, version, builder.Options{IncludeSelectableFields: true})
			if err == nil && document.Components != nil {
				release.CorrectSchemas(document.Components.Schemas)
			}
			return document, err
		}),
		V2: sync.OnceValues(func() (*spec.Swagger, error) {
			crd, err := read()
			if err != nil {
				return nil, err
			}
			document, err := builder.BuildOpenAPIV2(crd, version, builder.Options{V2: true, IncludeSelectableFields: true})
			if err == nil {
				release.CorrectSchemas(document.Definitions)
			}
			return document, err
		}),
	}
}

// upstreamFields returns upstream's field manager of a version of a custom resource, or of its subresource.
func upstreamFields(types func() (managedfields.TypeConverter, error), c *codec, subresource string, reset map[string][]string) resource.FieldManager {
	return sync.OnceValues(func() (*managedfields.FieldManager, error) {
		converter, err := types()
		if err != nil {
			return nil, err
		}
		return managedfields.NewDefaultCRDFieldManager(converter, objectConverter{c}, objectConverter{c}, creater{},
			c.kind, c.kind.GroupVersion(), subresource, resource.ResetFields(reset))
	})
}
