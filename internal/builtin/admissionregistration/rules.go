package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	operations = sets.New(
		admissionregistrationv1.OperationAll, admissionregistrationv1.Create, admissionregistrationv1.Update,
		admissionregistrationv1.Delete, admissionregistrationv1.Connect,
	)
	// mutable are the operations that bring an object to change.
	mutable = operations.Difference(sets.New(admissionregistrationv1.Delete))
	scopes  = sets.New(admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope, admissionregistrationv1.AllScopes)
)

// oneOf refuses a value that is none of those that are supported.
func oneOf[T ~string](value T, supported sets.Set[T], path *field.Path) field.ErrorList {
	if supported.Has(value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, sets.List(supported))}
}

// requiredOneOf is oneOf for a value that has to be there.
func requiredOneOf[T ~string](value *T, supported sets.Set[T], path *field.Path) field.ErrorList {
	if value == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	return oneOf(*value, supported, path)
}

// ValidateRuleWithOperations validates which requests a rule matches. Resources may
// be subresources.
func ValidateRuleWithOperations(r *admissionregistrationv1.RuleWithOperations, path *field.Path) field.ErrorList {
	errs := validateAlone(r.Operations, "operations", path.Child("operations"))
	for i, operation := range r.Operations {
		errs = append(errs, oneOf(operation, operations, path.Child("operations").Index(i))...)
	}
	errs = append(errs, validateAlone(r.APIGroups, "API groups", path.Child("apiGroups"))...)
	errs = append(errs, validateAlone(r.APIVersions, "API versions", path.Child("apiVersions"))...)
	for i, version := range r.APIVersions {
		if version == "" {
			errs = append(errs, field.Required(path.Child("apiVersions").Index(i), ""))
		}
	}
	errs = append(errs, validateResources(r.Resources, path.Child("resources"))...)
	if r.Scope != nil {
		errs = append(errs, oneOf(*r.Scope, scopes, path.Child("scope"))...)
	}
	return errs
}

// validateAlone asks for at least one, and that what means all of them has no other
// beside it.
func validateAlone[T ~string](all []T, what string, path *field.Path) field.ErrorList {
	if len(all) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(all) > 1 && slices.Contains(all, "*") {
		return field.ErrorList{field.Invalid(path, all, "if '*' is present, must not specify other "+what)}
	}
	return nil
}

// validateResources refuses resources that others among them cover already.
func validateResources(resources []string, path *field.Path) field.ErrorList {
	if len(resources) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	allOf, everywhere := sets.New[string](), sets.New[string]() // x of x/*, y of */y
	plain := false                                              // whether the last resource that is none of subresources is no wildcard
	for i, name := range resources {
		if name == "" {
			errs = append(errs, field.Required(path.Index(i), ""))
			continue
		}
		resource, sub, isSub := strings.Cut(name, "/")
		if !isSub {
			plain = name != "*"
			continue
		}
		if allOf.Has(resource) {
			errs = append(errs, field.Invalid(path.Index(i), name, fmt.Sprintf("if '%s/*' is present, must not specify %s", resource, name)))
		}
		if everywhere.Has(sub) {
			errs = append(errs, field.Invalid(path.Index(i), name, fmt.Sprintf("if '*/%s' is present, must not specify %s", sub, name)))
		}
		if sub == "*" {
			allOf.Insert(resource)
		}
		if resource == "*" {
			everywhere.Insert(sub)
		}
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		errs = append(errs, field.Invalid(path, resources, "if '*/*' is present, must not specify other resources"))
	}
	if plain && slices.Contains(resources, "*") {
		errs = append(errs, field.Invalid(path, resources, "if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}

// validateNamedRule validates a rule that may be limited to names.
func validateNamedRule(r *admissionregistrationv1.NamedRuleWithOperations, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, name := range r.ResourceNames {
		at := path.Child("resourceNames").Index(i)
		for _, text := range content.IsPathSegmentName(name) {
			errs = append(errs, field.Invalid(at, name, text))
		}
		if seen.Has(name) {
			errs = append(errs, field.Duplicate(at, name))
		}
		seen.Insert(name)
	}
	return append(errs, ValidateRuleWithOperations(&r.RuleWithOperations, path)...)
}
