package builtin

import (
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/openapiconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/generated/openapi"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// documents has the OpenAPI documents of a set of resources, one for each group version.
type documents struct {
	byVersion map[schema.GroupVersion]*document
}

// document describes the kinds of one version of a group, which share it.
type document struct {
	published *resource.OpenAPI
	scheme    *runtime.Scheme
	versions  []*resource.Version
}

// of returns the OpenAPI documents of a version of a group.
func (d *documents) of(gv schema.GroupVersion) *resource.OpenAPI {
	if known := d.byVersion[gv]; known != nil {
		return known.published
	}
	made := &document{}
	made.published = &resource.OpenAPI{V3: sync.OnceValues(made.v3), V2: sync.OnceValues(made.v2)}
	d.byVersion[gv] = made
	return made.published
}

// describe adds a version of a resource to the document of its group.
func (d *documents) describe(v *resource.Version, scheme *runtime.Scheme) {
	one := d.byVersion[v.GroupVersion()]
	one.scheme = scheme
	one.versions = append(one.versions, v)
}

// definitionNames maps Go types to the names that a real server publishes, and to kinds.
var definitionNames = sync.OnceValue(func() *apiopenapi.DefinitionNamer {
	return apiopenapi.NewDefinitionNamer(legacyscheme.Scheme, aggregatorscheme.Scheme)
})

// names returns the names of the types of the kinds, and of the lists of them.
func (d *document) names() (kinds map[schema.GroupVersionKind]string, all []string, err error) {
	kinds = map[schema.GroupVersionKind]string{}
	add := func(kind schema.GroupVersionKind) error {
		if kinds[kind] == "" {
			if kinds[kind], err = resource.ModelName(d.scheme, kind); err != nil {
				return err
			}
			all = append(all, kinds[kind])
		}
		return nil
	}
	for _, v := range d.versions {
		if err := add(v.Kind()); err != nil {
			return nil, nil, err
		}
		for _, s := range v.Subresource {
			if s.Connection != nil {
				continue // it sends and answers no object
			}
			if err := add(v.KindOf(s)); err != nil {
				return nil, nil, err
			}
		}
		if list := v.GroupVersion().WithKind(v.Resource.Names.ListKind); slices.Contains(v.Resource.Verbs, "list") {
			name, err := resource.ModelName(d.scheme, list)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, name)
		}
	}
	for _, sent := range exchanged {
		if sent.verb == "" || slices.ContainsFunc(d.versions, func(v *resource.Version) bool { return slices.Contains(v.Resource.Verbs, sent.verb) }) {
			all = append(all, util.GetCanonicalTypeName(sent.example))
		}
	}
	return kinds, all, nil
}

// exchanged are the types in requests and answers other than objects and lists. A real
// server describes them in the document of each version with a resource that has the verb.
var exchanged = []struct {
	verb    string // empty: every resource
	example any
}{
	{"", &metav1.APIResourceList{}},
	{"delete", &metav1.DeleteOptions{}},
	{"patch", &metav1.Patch{}},
	{"delete", &metav1.Status{}},
	{"watch", &metav1.WatchEvent{}},
}

func (d *document) v3() (*spec3.OpenAPI, error) {
	kinds, names, err := d.names()
	if err != nil {
		return nil, err
	}
	models, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		Definitions: forBuilding(definitionsV3()), GetDefinitionName: definitionNames().GetDefinitionName,
	}, names...)
	if err != nil {
		return nil, err
	}
	paths := openapiconv.ConvertV2ToV3(&spec.Swagger{SwaggerProps: spec.SwaggerProps{Swagger: "2.0", Paths: d.paths(kinds)}}).Paths
	return &spec3.OpenAPI{Version: "3.0.0", Paths: paths, Components: &spec3.Components{Schemas: models}}, nil
}

// paths describes the paths of all versions, whose kinds have schemas of the given names.
func (d *document) paths(kinds map[schema.GroupVersionKind]string) *spec.Paths {
	all := map[string]spec.PathItem{}
	for _, v := range d.versions {
		maps.Copy(all, resource.OpenAPIPaths(v, func(kind schema.GroupVersionKind) string { return kinds[kind] }))
	}
	return &spec.Paths{Paths: all}
}

func (d *document) v2() (*spec.Swagger, error) {
	kinds, names, err := d.names()
	if err != nil {
		return nil, err
	}
	out, err := builder.BuildOpenAPIDefinitionsForResources(&common.Config{
		GetDefinitions: definitionsV2, GetDefinitionName: definitionNames().GetDefinitionName,
	}, names...)
	if err != nil {
		return nil, err
	}
	out.Paths = d.paths(kinds)
	return out, nil
}

// definitionsV2 describes all types, with references as OpenAPI v2 has them.
func definitionsV2(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	return forBuilding(allV2())
}

var allV2 = sync.OnceValue(func() map[string]common.OpenAPIDefinition {
	return openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/definitions/" + common.EscapeJsonPointer(name))
	})
})
