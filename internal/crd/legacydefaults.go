package crd

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// takeDefaults removes the defaults from the schemas of a definition, and returns an error for each, because v1beta1 has
// no defaults. Upstream's validation would report them differently.
func takeDefaults(spec *apiextensions.CustomResourceDefinitionSpec) field.ErrorList {
	var errs field.ErrorList
	take := func(v *apiextensions.CustomResourceValidation, path *field.Path) {
		if v != nil {
			t := defaultsTaker{errs: &errs, reason: "(cannot set default values in apiextensions.k8s.io/v1beta1 CRDs, must use apiextensions.k8s.io/v1)"}
			t.take(v.OpenAPIV3Schema, path.Child("openAPIV3Schema"), true)
		}
	}
	take(spec.Validation, field.NewPath("spec", "validation"))
	for i := range spec.Versions {
		take(spec.Versions[i].Schema, field.NewPath("spec", "versions").Index(i).Child("schema"))
	}
	return errs
}

// defaultsTaker removes the defaults from a node and from all nodes below it, with an error
// that has a reason.
type defaultsTaker struct {
	errs     *field.ErrorList
	reason   string
	metadata bool // the node is in the metadata of an object
}

func (t defaultsTaker) take(s *apiextensions.JSONSchemaProps, path *field.Path, root bool) {
	if s == nil {
		return
	}
	if s.Default != nil {
		*t.errs = append(*t.errs, field.Forbidden(path.Child("default"), "must not be set "+t.reason))
		s.Default = nil
	}
	for name := range s.Properties {
		taker := t
		if (root || s.XEmbeddedResource) && (name == "metadata" || name == "kind" || name == "apiVersion") {
			taker.metadata = true
			if root {
				taker.reason = "in top-level " + name
			}
		}
		taker.takeFrom(s.Properties, name, path.Child("properties"))
	}
	if s.AdditionalProperties != nil {
		taker := t
		if t.metadata {
			taker.reason = "inside additionalProperties applying to object metadata"
		}
		taker.take(s.AdditionalProperties.Schema, path.Child("additionalProperties"), false)
	}
	if s.Items != nil {
		t.take(s.Items.Schema, path.Child("items"), false)
		t.takeAll(s.Items.JSONSchemas, path.Child("items"))
	}
	t.take(s.Not, path.Child("not"), false)
	t.takeAll(s.AllOf, path.Child("allOf"))
	t.takeAll(s.OneOf, path.Child("oneOf"))
	t.takeAll(s.AnyOf, path.Child("anyOf"))
	for name := range s.Definitions {
		t.takeFrom(s.Definitions, name, path.Child("definitions"))
	}
	for name, d := range s.Dependencies {
		t.take(d.Schema, path.Child("dependencies").Key(name), false)
	}
}

func (t defaultsTaker) takeAll(schemas []apiextensions.JSONSchemaProps, path *field.Path) {
	for i := range schemas {
		t.take(&schemas[i], path.Index(i), false)
	}
}

func (t defaultsTaker) takeFrom(schemas map[string]apiextensions.JSONSchemaProps, name string, path *field.Path) {
	s := schemas[name]
	t.take(&s, path.Key(name), false)
	schemas[name] = s
}
