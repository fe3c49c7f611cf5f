package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var actions = sets.New(admissionregistrationv1.Deny, admissionregistrationv1.Warn, admissionregistrationv1.Audit)

// ValidateValidatingAdmissionPolicyBinding validates the spec of a binding. Whether
// there is such a policy shows when the binding is carried out. What is required is
// said last, because the types' own tags say it.
func ValidateValidatingAdmissionPolicyBinding(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	spec, path := &b.Spec, field.NewPath("spec")
	errs := validatePolicyName(spec.PolicyName, path.Child("policyName"))
	errs = append(errs, validateParamRef(spec.ParamRef, path.Child("paramRef"))...)
	errs = append(errs, validateMatch(spec.MatchResources, path.Child("matchResources"))...)
	errs = append(errs, validateActions(spec.ValidationActions, path.Child("validationActions"))...)
	errs = append(errs, ValidateName(b.Name)...)
	if spec.PolicyName == "" {
		errs = append(errs, field.Required(path.Child("policyName"), ""))
	}
	if len(spec.ValidationActions) == 0 {
		errs = append(errs, field.Required(path.Child("validationActions"), ""))
	}
	return errs
}

// ValidateMutatingAdmissionPolicyBinding validates the spec of a binding.
func ValidateMutatingAdmissionPolicyBinding(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	spec, path := &b.Spec, field.NewPath("spec")
	errs := validatePolicyName(spec.PolicyName, path.Child("policyName"))
	if spec.PolicyName == "" {
		errs = append(errs, field.Required(path.Child("policyName"), ""))
	}
	errs = append(errs, validateParamRef(spec.ParamRef, path.Child("paramRef"))...)
	errs = append(errs, validateMatch(spec.MatchResources, path.Child("matchResources"))...)
	errs = append(errs, validateMutable(spec.MatchResources, path.Child("matchResources"))...)
	return append(errs, ValidateName(b.Name)...)
}

func validatePolicyName(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if name != "" {
		for _, text := range apivalidation.NameIsDNSSubdomain(name, false) {
			errs = append(errs, field.Invalid(path, name, text))
		}
	}
	return errs
}

func validateActions(all []admissionregistrationv1.ValidationAction, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[admissionregistrationv1.ValidationAction]()
	for i, action := range all {
		errs = append(errs, oneOf(action, actions, path.Index(i))...)
		if seen.Has(action) {
			errs = append(errs, field.Duplicate(path.Index(i), action))
		}
		seen.Insert(action)
	}
	if seen.HasAll(admissionregistrationv1.Deny, admissionregistrationv1.Warn) {
		errs = append(errs, field.Invalid(path, all,
			"must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	return errs
}
