package admissionregistration

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var matchPolicies = sets.New(admissionregistrationv1.Exact, admissionregistrationv1.Equivalent)

// validateMatch validates which requests a policy or a binding is for; a binding
// need not say.
func validateMatch(m *admissionregistrationv1.MatchResources, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	errs := requiredOneOf(m.MatchPolicy, matchPolicies, path.Child("matchPolicy"))
	for _, s := range []struct {
		selector *metav1.LabelSelector
		path     *field.Path
	}{{m.NamespaceSelector, path.Child("namespaceSelector")}, {m.ObjectSelector, path.Child("objectSelector")}} {
		if s.selector == nil {
			errs = append(errs, field.Required(s.path, ""))
			continue
		}
		errs = append(errs, metav1validation.ValidateLabelSelector(s.selector, metav1validation.LabelSelectorValidationOptions{}, s.path)...)
	}
	for i := range m.ResourceRules {
		errs = append(errs, validateNamedRule(&m.ResourceRules[i], path.Child("resourceRules").Index(i))...)
	}
	for i := range m.ExcludeResourceRules {
		errs = append(errs, validateNamedRule(&m.ExcludeResourceRules[i], path.Child("excludeResourceRules").Index(i))...)
	}
	return errs
}

// validateConstraints validates the matchConstraints of a policy: it says which
// resources it is for.
func validateConstraints(m *admissionregistrationv1.MatchResources, path *field.Path) field.ErrorList {
	if m == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := validateMatch(m, path)
	if len(m.ResourceRules) == 0 {
		errs = append(errs, field.Required(path.Child("resourceRules"), ""))
	}
	return errs
}

// validateMutable refuses operations that have nothing to change.
func validateMutable(m *admissionregistrationv1.MatchResources, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	var errs field.ErrorList
	for _, rule := range m.ResourceRules {
		for _, operation := range rule.Operations {
			errs = append(errs, oneOf(operation, mutable, path.Child("resourceRules", "operations"))...)
		}
	}
	return errs
}

// validateParamKind validates the kind of the parameters of a policy. Whether there
// is such a kind shows when the policy is carried out.
func validateParamKind(k *admissionregistrationv1.ParamKind, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("apiVersion")
	group, version, hasGroup := strings.Cut(k.APIVersion, "/")
	if !hasGroup {
		group, version = "", k.APIVersion
	}
	switch {
	case k.APIVersion == "":
		errs = append(errs, field.Required(at, ""))
	case strings.Count(k.APIVersion, "/") > 1:
		errs = append(errs, field.Invalid(at, k.APIVersion, "unexpected GroupVersion string: "+k.APIVersion))
	default:
		if group != "" {
			errs = append(errs, invalid(at, group, "", utilvalidation.IsDNS1123Subdomain(group))...)
		}
		if version == "" {
			errs = append(errs, field.Invalid(at, k.APIVersion, "version must be specified"))
		} else {
			errs = append(errs, invalid(at, version, "", utilvalidation.IsDNS1035Label(version))...)
		}
	}
	if k.Kind == "" {
		return append(errs, field.Required(path.Child("kind"), ""))
	}
	return append(errs, invalid(path.Child("kind"), k.Kind, "may have mixed case, but should otherwise match: ",
		utilvalidation.IsDNS1035Label(strings.ToLower(k.Kind)))...)
}

// invalid is what is wrong with a value, as one error.
func invalid(path *field.Path, value, prefix string, complaints []string) field.ErrorList {
	if len(complaints) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, prefix+strings.Join(complaints, ","))}
}

var notFoundActions = sets.New(admissionregistrationv1.AllowAction, admissionregistrationv1.DenyAction)

// validateParamRef validates which objects are the parameters of a binding.
func validateParamRef(ref *admissionregistrationv1.ParamRef, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	const exclusive = "name and selector are mutually exclusive"
	var errs field.ErrorList
	if ref.Name != "" {
		for _, text := range content.IsPathSegmentName(ref.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), ref.Name, text))
		}
		if ref.Selector != nil {
			errs = append(errs, field.Forbidden(path.Child("name"), exclusive))
		}
	}
	if ref.Selector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(ref.Selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
		if ref.Name != "" {
			errs = append(errs, field.Forbidden(path.Child("selector"), exclusive))
		}
	}
	if ref.Name == "" && ref.Selector == nil {
		errs = append(errs, field.Required(path, "one of name or selector must be specified"))
	}
	at := path.Child("parameterNotFoundAction")
	switch action := ref.ParameterNotFoundAction; {
	case action == nil || *action == "":
		errs = append(errs, field.Required(at, ""))
	case !notFoundActions.Has(*action):
		errs = append(errs, field.NotSupported(at, action, []string{"Deny", "Allow"}))
	}
	return errs
}
