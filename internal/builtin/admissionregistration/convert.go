package admissionregistration

import (
	"encoding/json"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// AddConversions tells a scheme how policies and bindings of v1beta1 are those of
// v1. The two versions have the same fields.
func AddConversions(s *runtime.Scheme) error {
	for _, pair := range [][2]any{
		{(*admissionregistrationv1beta1.ValidatingAdmissionPolicy)(nil), (*admissionregistrationv1.ValidatingAdmissionPolicy)(nil)},
		{(*admissionregistrationv1beta1.ValidatingAdmissionPolicyBinding)(nil), (*admissionregistrationv1.ValidatingAdmissionPolicyBinding)(nil)},
	} {
		for _, way := range [][2]any{{pair[0], pair[1]}, {pair[1], pair[0]}} {
			if err := s.AddConversionFunc(way[0], way[1], convertByFields); err != nil {
				return err
			}
		}
	}
	return nil
}

// convertByFields writes an object into one that has the same fields.
func convertByFields(from, into any, _ conversion.Scope) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
