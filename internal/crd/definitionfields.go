package crd

import (
	"reflect"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"

	"github.com/fakecluster/fakecluster/internal/fields"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// openAPIDefinitions has the OpenAPI definitions of CustomResourceDefinitions and Scales.
var openAPIDefinitions = sync.OnceValue(func() map[string]common.OpenAPIDefinition {
	definitions := openapi.GetOpenAPIDefinitions(resource.References())
	release.Correct(definitions)
	return definitions
})

// definitionTypes has the types of definitions for field management.
var definitionTypes = sync.OnceValue(func() *resource.Types {
	return resource.NewTypes(Scheme(), openAPIDefinitions, kind, legacyKind)
})

// definitionFields manages the fields of definitions in one version. A spec is large, and the engine would convert it
// and make a tree of it for each write. So the engine does not get an unchanged spec. Of a new spec it gets one version
// with only a name, because the list of versions is atomic and has one owner.
//
// Measured with the largest definitions of cluster-api on a busy machine of two cores (see
// BenchmarkInstall in conformance/realcrds): to install one that the process has compiled takes 3.3 to
// 4.2 ms, and 18 to 29 ms if the engine sees all of it, with 7.1 in place of 1.7 MB and 21,500
// in place of 1,400 allocations. Converting the two specs of a write is a quarter of that; the
// rest are the trees of schemas, whose parts encode themselves as JSON.
type definitionFields struct {
	*resource.TypedFields
	kind schema.GroupVersionKind
}

// newDefinitionFields returns the field management of definitions in one version. It resets the field that the endpoint
// ignores in both versions, because fields may be managed in the other one.
func newDefinitionFields(kind schema.GroupVersionKind, subresource, reset string) resource.Fields {
	m := resource.Managing{Scheme: Scheme(), Kind: kind, Hub: hub, Subresource: subresource, Types: definitionTypes(), Reset: map[string]fields.Filter{}}
	both := map[string][]string{}
	for _, gv := range []schema.GroupVersion{apiextensionsv1.SchemeGroupVersion, apiextensionsv1beta1.SchemeGroupVersion} {
		m.Reset[gv.String()] = fields.Excluding(fields.NewSet(reset))
		both[gv.String()] = []string{reset}
	}
	m.Filters = resource.ResetFields(both)
	return definitionFields{resource.NewTypedFields(m), kind}
}

// Update implements resource.Fields.
func (f definitionFields) Update(current resource.Decoded, obj runtime.Object, manager string, now metav1.Time) (runtime.Object, *fields.Managed, error) {
	wanted, stored := obj.(*apiextensions.CustomResourceDefinition), current.Object.(*apiextensions.CustomResourceDefinition)
	shortIs, shortWas := *wanted, *stored
	owners, ok := current.Owners()
	switch {
	case !ok || !owners.AreIn(f.kind.GroupVersion().String()) || len(wanted.ManagedFields) > 0 && !owners.IsList(wanted.ManagedFields):
		// Converting to another version needs the whole spec.
		return f.TypedFields.Update(current, obj, manager, now)
	case len(stored.Spec.Versions) == 0 && len(wanted.Spec.Versions) > 0 && f.kind == kind:
		shortIs.Spec = withoutSchemas(wanted.Spec)
	case reflect.DeepEqual(wanted.Spec, stored.Spec):
		shortIs.Spec, shortWas.Spec = apiextensions.CustomResourceDefinitionSpec{}, apiextensions.CustomResourceDefinitionSpec{}
	default:
		return f.TypedFields.Update(current, obj, manager, now)
	}
	current.Object = &shortWas
	managed, owned, err := f.TypedFields.Update(current, &shortIs, manager, now)
	if err != nil {
		return nil, nil, err
	}
	wanted.ManagedFields = managed.(*apiextensions.CustomResourceDefinition).ManagedFields
	return wanted, owned, nil
}

// withoutSchemas returns the spec with a single version that has only a name.
func withoutSchemas(spec apiextensions.CustomResourceDefinitionSpec) apiextensions.CustomResourceDefinitionSpec {
	spec.Versions = []apiextensions.CustomResourceDefinitionVersion{{Name: spec.Versions[0].Name}}
	spec.Validation, spec.Subresources, spec.AdditionalPrinterColumns, spec.SelectableFields = nil, nil, nil, nil
	return spec
}
