package generate

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// quantity is the pattern that controller-gen writes for quantities.
const quantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// FromOpenAPI returns the schema of a built-in kind, whose references are resolved, as a definition would have it: quantities and what may be an integer or a
// text are marked as such.
func FromOpenAPI(published *spec.Schema) (*apiextensionsv1.JSONSchemaProps, error) {
	text, err := json.Marshal(published)
	if err != nil {
		return nil, err
	}
	s := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	define(s)
	return s, nil
}

func define(s *apiextensionsv1.JSONSchemaProps) {
	if s.Type == "" && len(s.OneOf) > 0 {
		s.XIntOrString = true
		if s.Format != "int-or-string" {
			s.Pattern = quantity
		}
		s.OneOf = nil
	}
	for name, property := range s.Properties {
		define(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		define(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		define(s.AdditionalProperties.Schema)
	}
}
