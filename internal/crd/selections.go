package crd

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// withReadableSelections removes selectable fields of a missing or non-structural schema, for which upstream's
// validation panics, and returns errors for them. Without such fields it returns the definition itself.
func withReadableSelections(crd *apiextensions.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, field.ErrorList) {
	var errs field.ErrorList
	readable := crd
	leaveOut := func(path *field.Path, fields []apiextensions.SelectableField, schema *apiextensions.CustomResourceValidation, from func(*apiextensions.CustomResourceDefinitionSpec)) {
		if len(fields) == 0 || schema == nil {
			return // upstream validates it
		}
		switch _, err := structuralschema.NewStructural(schema.OpenAPIV3Schema); {
		case schema.OpenAPIV3Schema == nil:
			errs = append(errs, field.Invalid(path.Child("selectableFields"), "", "may only be set when validations.schema is included"))
		case err != nil:
			errs = append(errs, field.Invalid(path.Child("schema.openAPIV3Schema"), "", err.Error()))
		default:
			return
		}
		if readable == crd {
			readable = crd.DeepCopy()
		}
		from(&readable.Spec)
	}
	spec := field.NewPath("spec")
	leaveOut(spec, crd.Spec.SelectableFields, crd.Spec.Validation, func(s *apiextensions.CustomResourceDefinitionSpec) { s.SelectableFields = nil })
	for i, v := range crd.Spec.Versions {
		leaveOut(spec.Child("versions").Index(i), v.SelectableFields, v.Schema, func(s *apiextensions.CustomResourceDefinitionSpec) { s.Versions[i].SelectableFields = nil })
	}
	return readable, errs
}
