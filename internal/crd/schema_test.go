package crd

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	"github.com/fakecluster/fakecluster/internal/schema"
)

// Clients with Go types send definitions in protobuf, where a schema of other fields does
// not imply that there may be some.
func TestFieldsThatHaveASchemaAreAllowedHoweverTheDefinitionCame(t *testing.T) {
	for _, allows := range []bool{true, false} {
		props := &apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{
			"m": {Type: "object", AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{
				Allows: allows, Schema: &apiextensions.JSONSchemaProps{Type: "integer"},
			}},
		}}
		s, err := compileSchema(props, false)
		if err != nil {
			t.Fatal(err)
		}
		for value, valid := range map[any]bool{int64(1): true, "x": false} {
			obj := map[string]any{"m": map[string]any{"k": value}}
			if has := s.node.Inspect(obj, schema.Valid).Has(schema.Valid); has != valid {
				t.Errorf("allows is %v: %v is reported to be valid: %v", allows, obj, has)
			}
			if errs := validation.ValidateCustomResource(nil, obj, s.validator()); (len(errs) == 0) != valid {
				t.Errorf("allows is %v: upstream says of %v: %v", allows, obj, errs)
			}
		}
		if got := props.Properties["m"].AdditionalProperties.Allows; got != allows {
			t.Errorf("the schema of the definition is altered: allows is %v", got)
		}
	}
}

// Objects that cannot have a field are not searched for it each time they are answered.
func TestWhichFieldsObjectsOfASchemaMayHave(t *testing.T) {
	for name, test := range map[string]struct {
		structural *structuralschema.Structural
		want       bool
	}{
		"no schema":            {nil, true},
		"another field":        {&structuralschema.Structural{Properties: map[string]structuralschema.Structural{"spec": {}}}, false},
		"the field":            {&structuralschema.Structural{Properties: map[string]structuralschema.Structural{"items": {}}}, true},
		"fields are preserved": {&structuralschema.Structural{Extensions: structuralschema.Extensions{XPreserveUnknownFields: true}}, true},
	} {
		if got := (&compiledSchema{structural: test.structural}).mayHave("items"); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
