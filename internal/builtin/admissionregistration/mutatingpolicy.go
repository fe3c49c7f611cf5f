package admissionregistration

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"

	"github.com/fakecluster/fakecluster/internal/admission/expression"
)

var (
	patchTypes           = sets.New(admissionregistrationv1.PatchTypeApplyConfiguration, admissionregistrationv1.PatchTypeJSONPatch)
	reinvocationPolicies = sets.New(admissionregistrationv1.NeverReinvocationPolicy, admissionregistrationv1.IfNeededReinvocationPolicy)
)

// ValidateMutatingAdmissionPolicy validates the spec of a policy. The old one is nil
// for a create.
func ValidateMutatingAdmissionPolicy(p, was *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	spec, path := &p.Spec, field.NewPath("spec")
	errs := requiredOneOf(spec.FailurePolicy, failurePolicies, path.Child("failurePolicy"))
	if spec.ParamKind != nil {
		errs = append(errs, validateParamKind(spec.ParamKind, path.Child("paramKind"))...)
	}
	errs = append(errs, validateConstraints(spec.MatchConstraints, path.Child("matchConstraints"))...)
	errs = append(errs, validateMutable(spec.MatchConstraints, path.Child("matchConstraints"))...)
	var conditions, mutations Expressions
	if was != nil {
		conditions, mutations = conditionsOf(was.Spec.MatchConditions), configurationsOf(was.Spec.Mutations)
	}
	if was == nil || !sameConditions(spec.ParamKind, was.Spec.ParamKind, spec.MatchConditions, was.Spec.MatchConditions) {
		errs = append(errs, ValidateMatchConditions(spec.MatchConditions, spec.ParamKind != nil, conditions, path.Child("matchConditions"))...)
	}
	compiler, err := newCompiler()
	if err != nil {
		return append(errs, compilerError(path, err)...)
	}
	decls := expression.Declarations(spec.ParamKind)
	errs = append(errs, validateVariables(compiler, spec.Variables, decls, nil, path.Child("variables"))...)
	if len(spec.Mutations) == 0 {
		errs = append(errs, field.Required(path.Child("mutations"), "mutations must contain at least one item"))
	}
	decls.HasPatchTypes = true
	for i := range spec.Mutations {
		errs = append(errs, validateMutation(compiler, &spec.Mutations[i], decls, mutations, path.Child("mutations").Index(i))...)
	}
	if spec.ReinvocationPolicy == "" {
		errs = append(errs, field.Required(path.Child("reinvocationPolicy"), ""))
	} else {
		errs = append(errs, oneOf(spec.ReinvocationPolicy, reinvocationPolicies, path.Child("reinvocationPolicy"))...)
	}
	return append(errs, ValidateName(p.Name)...)
}

// configurationsOf are the apply configurations that are stored. Upstream takes no
// account of stored JSON patches.
func configurationsOf(mutations []admissionregistrationv1.Mutation) Expressions {
	all := Expressions{}
	for _, m := range mutations {
		if m.ApplyConfiguration != nil {
			all.Insert(m.ApplyConfiguration.Expression)
		}
	}
	return all
}

func validateMutation(c plugincel.Compiler, m *admissionregistrationv1.Mutation, decls plugincel.OptionalVariableDeclarations,
	stored Expressions, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	configuration, jsonPatch := path.Child("applyConfiguration"), path.Child("jsonPatch")
	switch m.PatchType {
	case "":
		errs = append(errs, field.Required(path.Child("patchType"), ""))
	case admissionregistrationv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			errs = append(errs, field.Required(jsonPatch, "must be specified when patchType is JSONPatch"))
		} else {
			text := strings.TrimSpace(m.JSONPatch.Expression)
			errs = append(errs, validatePatch(c, &patch.JSONPatchCondition{Expression: text}, m.JSONPatch.Expression, decls, stored, jsonPatch)...)
		}
		if m.ApplyConfiguration != nil {
			errs = append(errs, field.Invalid(configuration, "{applyConfiguration}", "must not be specified when patchType is JSONPatch"))
		}
	case admissionregistrationv1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			errs = append(errs, field.Required(configuration, "must be specified when patchType is ApplyConfiguration"))
		} else {
			text := strings.TrimSpace(m.ApplyConfiguration.Expression)
			errs = append(errs, validatePatch(c, &patch.ApplyConfigurationCondition{Expression: text}, m.ApplyConfiguration.Expression, decls, stored, configuration)...)
		}
		if m.JSONPatch != nil {
			errs = append(errs, field.Invalid(jsonPatch, "{jsonPatch}", "must not be specified when patchType is ApplyConfiguration"))
		}
	default:
		errs = append(errs, oneOf(m.PatchType, patchTypes, path.Child("patchType"))...)
	}
	return errs
}

func validatePatch(c plugincel.Compiler, e plugincel.ExpressionAccessor, text string, decls plugincel.OptionalVariableDeclarations,
	stored Expressions, path *field.Path) field.ErrorList {
	if e.GetExpression() == "" {
		return field.ErrorList{field.Required(path.Child("expression"), "")}
	}
	return validateExpression(c, e, decls, environmentOf(text, stored), path.Child("expression"))
}
