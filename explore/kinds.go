package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
)

// kind is a version of a kind whose objects the trials create and change.
type kind struct {
	schema.GroupVersionKind
	resource   string // plural
	namespaced bool
	status     bool // it has the subresource status
	defined    bool // the kind is defined by a CustomResourceDefinition
	stored     bool
	schema     *apiextensionsv1.JSONSchemaProps
}

// findKinds returns the kinds of the subject: those of Resources, or of all definitions.
func (e *operatorExploration) findKinds() (kinds []kind, err error) {
	defined, err := e.definedKinds()
	if err != nil {
		return nil, err
	}
	if len(e.subject.Resources) == 0 {
		if len(defined) == 0 {
			return nil, errors.New("there is no CustomResourceDefinition in Subject.Install: give the folder with the operator's definitions, such as config/crd, or set Subject.Resources, such as jobs.batch")
		}
		return defined, nil
	}
	if len(e.subject.Seeds) == 0 {
		return nil, errors.New("Subject.Seeds is empty: give a manifest with an object of each of Subject.Resources")
	}
	for _, name := range e.subject.Resources {
		resource := schema.ParseGroupResource(name)
		found := slices.DeleteFunc(slices.Clone(defined), func(k kind) bool { return k.Group != resource.Group || k.resource != resource.Resource })
		if len(found) == 0 {
			if found, err = e.builtinKinds(resource); err != nil {
				return nil, fmt.Errorf("Subject.Resources: %s: %w", name, err)
			}
		}
		kinds = append(kinds, found...)
	}
	return kinds, nil
}

// definedKinds returns the kinds of the definitions.
func (e *operatorExploration) definedKinds() (kinds []kind, err error) {
	definitions, err := e.base.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, d := range definitions.Items {
		for _, v := range d.Spec.Versions {
			if v.Served && v.Schema != nil {
				kinds = append(kinds, kind{schema.GroupVersionKind{Group: d.Spec.Group, Version: v.Name, Kind: d.Spec.Names.Kind}, d.Spec.Names.Plural,
					d.Spec.Scope == apiextensionsv1.NamespaceScoped, v.Subresources != nil && v.Subresources.Status != nil, true, v.Storage, v.Schema.OpenAPIV3Schema})
			}
		}
	}
	return kinds, nil
}

// builtinKinds returns the versions of a kind of Kubernetes, with the schemas that the server publishes.
func (e *operatorExploration) builtinKinds(resource schema.GroupResource) (kinds []kind, err error) {
	mapper := e.base.RESTMapper()
	found, err := mapper.KindsFor(resource.WithVersion(""))
	if err != nil {
		return nil, fmt.Errorf("the server does not serve this resource: write the plural and the group, such as jobs.batch: %w", err)
	}
	for _, gvk := range found {
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return nil, err
		}
		published, err := (&resolver.ClientDiscoveryResolver{Discovery: e.base.Discovery()}).ResolveSchema(gvk)
		if err != nil {
			return nil, err
		}
		converted, err := generate.FromOpenAPI(published)
		if err != nil {
			return nil, err
		}
		served, err := e.base.Discovery().ServerResourcesForGroupVersion(gvk.GroupVersion().String())
		if err != nil {
			return nil, err
		}
		status := slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource+"/status" })
		kinds = append(kinds, kind{gvk, mapping.Resource.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace, status, false, false, converted})
	}
	return kinds, nil
}

// kindOf returns the kind of an object; nil: it is not a kind of the subject.
func kindOf(kinds []kind, u *unstructured.Unstructured) *kind {
	gvk := u.GroupVersionKind()
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.GroupVersionKind == gvk }); i >= 0 {
		return &kinds[i]
	}
	return nil
}

// minimal returns an object with the fields that the schema of a kind requires.
func (k kind) minimal() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: generate.Minimal(k.schema)}
	delete(u.Object, "status")
	u.SetGroupVersionKind(k.GroupVersionKind)
	u.SetName("sample")
	return u
}

// isSubject reports whether the trials create and change the objects of a resource, so that only the operator writes their status.
func (e *operatorExploration) isSubject(resource string) bool {
	return slices.ContainsFunc(e.seeds, func(s *seed) bool { return s.resource.GroupResource().String() == resource })
}

// resourcesOf returns the resources of kinds, for messages.
func resourcesOf(kinds []kind) string {
	var resources []string
	for _, k := range kinds {
		resources = append(resources, schema.GroupResource{Group: k.Group, Resource: k.resource}.String())
	}
	slices.Sort(resources)
	return strings.Join(slices.Compact(resources), ", ")
}
