package crd

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// Upstream's validation panics on selectable fields whose schema cannot be read.
func TestSelectableFieldsOfAnUnreadableSchemaAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		schema *apiextensions.JSONSchemaProps
		want   string
	}{
		{"no schema", nil, `spec.selectableFields: Invalid value: "": may only be set when validations.schema is included`},
		{"a schema that is not structural", &apiextensions.JSONSchemaProps{Type: "object", PatternProperties: map[string]apiextensions.JSONSchemaProps{"a": {}}},
			`spec.schema.openAPIV3Schema: Invalid value: "": OpenAPIV3Schema 'patternProperties' is not supported`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &apiextensions.CustomResourceDefinition{Spec: apiextensions.CustomResourceDefinitionSpec{
				Validation:       &apiextensions.CustomResourceValidation{OpenAPIV3Schema: c.schema},
				SelectableFields: []apiextensions.SelectableField{{JSONPath: ".spec.a"}},
			}}
			d.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Schema: d.Spec.Validation, SelectableFields: d.Spec.SelectableFields}}
			errs := definitionStrategy{}.Validate(t.Context(), d)
			if errs = append(errs, definitionStrategy{}.ValidateUpdate(t.Context(), d, d)...); len(errs) == 0 || errs[0].Error() != c.want {
				t.Errorf("got %v, want %s first", errs, c.want)
			}
			if len(d.Spec.SelectableFields) != 1 || len(d.Spec.Versions[0].SelectableFields) != 1 {
				t.Error("the definition itself has been changed")
			}
		})
	}
}
