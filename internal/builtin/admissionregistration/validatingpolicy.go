package admissionregistration

import (
	"fmt"
	"regexp"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/client-go/util/jsonpath"

	"github.com/fakecluster/fakecluster/internal/admission/expression"
)

const (
	maxAuditAnnotations = 20
	// maxValueExpression is in bytes. A value may have twice as many.
	maxValueExpression = 5 * 1024
)

var (
	failurePolicies = sets.New(admissionregistrationv1.Ignore, admissionregistrationv1.Fail)
	reasons         = sets.New(metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge)
)

// validatingStored are the expressions of a stored policy.
type validatingStored struct {
	conditions, validations, messages, values Expressions
	// sameConditions says that the conditions need no new look.
	sameConditions bool
}

func validatingStoredOf(p, was *admissionregistrationv1.ValidatingAdmissionPolicy) (s validatingStored) {
	if was == nil {
		return s
	}
	s = validatingStored{
		conditions:     conditionsOf(was.Spec.MatchConditions),
		validations:    Expressions{},
		messages:       Expressions{},
		values:         Expressions{},
		sameConditions: sameConditions(p.Spec.ParamKind, was.Spec.ParamKind, p.Spec.MatchConditions, was.Spec.MatchConditions),
	}
	for _, v := range was.Spec.Validations {
		s.validations.Insert(v.Expression)
		s.messages.Insert(v.MessageExpression)
	}
	for _, a := range was.Spec.AuditAnnotations {
		s.values.Insert(a.ValueExpression)
	}
	return s
}

func conditionsOf(conditions []admissionregistrationv1.MatchCondition) Expressions {
	all := Expressions{}
	for _, c := range conditions {
		all.Insert(c.Expression)
	}
	return all
}

// sameConditions tells whether nothing has changed that could make conditions
// invalid which were valid before.
func sameConditions(kind, wasKind *admissionregistrationv1.ParamKind, conditions, were []admissionregistrationv1.MatchCondition) bool {
	return equality.Semantic.DeepEqual(kind, wasKind) && equality.Semantic.DeepEqual(conditions, were)
}

// ValidateValidatingAdmissionPolicy validates the spec of a policy. The old one is
// nil for a create.
func ValidateValidatingAdmissionPolicy(p, was *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	spec, path, stored := &p.Spec, field.NewPath("spec"), validatingStoredOf(p, was)
	errs := requiredOneOf(spec.FailurePolicy, failurePolicies, path.Child("failurePolicy"))
	if spec.ParamKind != nil {
		errs = append(errs, validateParamKind(spec.ParamKind, path.Child("paramKind"))...)
	}
	errs = append(errs, validateConstraints(spec.MatchConstraints, path.Child("matchConstraints"))...)
	if !stored.sameConditions {
		errs = append(errs, ValidateMatchConditions(spec.MatchConditions, spec.ParamKind != nil, stored.conditions, path.Child("matchConditions"))...)
	}
	decls := expression.Declarations(spec.ParamKind)
	compiler := plainCompiler()
	if len(spec.Variables) > 0 {
		composed, err := newCompiler()
		if err != nil {
			return append(errs, compilerError(path.Child("variables"), err)...)
		}
		errs = append(errs, validateVariables(composed, spec.Variables, decls, stored.validations, path.Child("variables"))...)
		compiler = composed
	}
	if len(spec.Validations) == 0 && len(spec.AuditAnnotations) == 0 {
		const both = "validations or auditAnnotations must contain at least one item"
		errs = append(errs, field.Required(path.Child("validations"), both), field.Required(path.Child("auditAnnotations"), both))
	}
	for i := range spec.Validations {
		errs = append(errs, validateValidation(compiler, &spec.Validations[i], decls, stored, path.Child("validations").Index(i))...)
	}
	errs = append(errs, validateAuditAnnotations(compiler, p, decls, stored, path.Child("auditAnnotations"))...)
	return append(errs, ValidateName(p.Name)...)
}

// lineBreaks are those of CEL's grammar.
var lineBreaks = regexp.MustCompile(`[\n\r]+`)

func validateValidation(c plugincel.Compiler, v *admissionregistrationv1.Validation, decls plugincel.OptionalVariableDeclarations,
	stored validatingStored, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if strings.TrimSpace(v.Expression) == "" {
		errs = append(errs, field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		errs = append(errs, validateExpression(c, expression.Validation{Validation: v}, decls,
			environmentOf(v.Expression, stored.validations), path.Child("expression"))...)
	}
	if v.MessageExpression != "" {
		at := path.Child("messageExpression")
		if strings.TrimSpace(v.MessageExpression) == "" {
			errs = append(errs, field.Invalid(at, v.MessageExpression, "must be non-empty if specified"))
		} else {
			decls.HasAuthorizer = false
			errs = append(errs, validateExpression(c, expression.Message(v.MessageExpression), decls,
				environmentOf(v.MessageExpression, stored.messages), at)...)
		}
	}
	switch text := strings.TrimSpace(v.Message); {
	case v.Message != "" && text == "":
		errs = append(errs, field.Invalid(path.Child("message"), v.Message, "must be non-empty if specified"))
	case lineBreaks.MatchString(text):
		errs = append(errs, field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	if v.Reason != nil {
		errs = append(errs, oneOf(*v.Reason, reasons, path.Child("reason"))...)
	}
	return errs
}

func validateAuditAnnotations(c plugincel.Compiler, p *admissionregistrationv1.ValidatingAdmissionPolicy, decls plugincel.OptionalVariableDeclarations,
	stored validatingStored, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if all := p.Spec.AuditAnnotations; len(all) > maxAuditAnnotations {
		// The real server prints the fields of a type that has no JSON names.
		type AuditAnnotation struct{ Key, ValueExpression string }
		values := make([]AuditAnnotation, len(all))
		for i, a := range all {
			values[i] = AuditAnnotation{a.Key, a.ValueExpression}
		}
		errs = append(errs, field.Invalid(path, values, fmt.Sprintf("must not have more than %d auditAnnotations", maxAuditAnnotations)))
	}
	keys := sets.New[string]()
	for i, a := range p.Spec.AuditAnnotations {
		at := path.Index(i)
		if p.Name == "" {
			errs = append(errs, field.Invalid(at.Child("key"), a.Key, "requires metadata.name be non-empty"))
		} else {
			key := p.Name + "/" + a.Key
			errs = append(errs, validateQualifiedName(key, key, at.Child("key"))...)
		}
		errs = append(errs, validateValueExpression(c, a.ValueExpression, decls, stored, at.Child("valueExpression"))...)
		if keys.Has(a.Key) {
			errs = append(errs, field.Duplicate(at.Child("key"), a.Key))
		}
		keys.Insert(a.Key)
	}
	return errs
}

func validateValueExpression(c plugincel.Compiler, value string, decls plugincel.OptionalVariableDeclarations, stored validatingStored, path *field.Path) field.ErrorList {
	text := strings.TrimSpace(value)
	switch {
	case text == "":
		return field.ErrorList{field.Required(path, "valueExpression is not specified")}
	case len(text) > maxValueExpression:
		return field.ErrorList{field.Required(path, fmt.Sprintf("must not exceed %d bytes in length", maxValueExpression))}
	}
	result := c.CompileCELExpression(expression.AuditAnnotation{Value: text}, decls, environmentOf(value, stored.values))
	return compileError(result.Error, value, path)
}

// ValidateValidatingAdmissionPolicyStatus validates what the server, or whoever
// writes in its place, has found out about a policy.
func ValidateValidatingAdmissionPolicyStatus(status *admissionregistrationv1.ValidatingAdmissionPolicyStatus) field.ErrorList {
	path := field.NewPath("status")
	var errs field.ErrorList
	if status.TypeChecking != nil {
		for i, w := range status.TypeChecking.ExpressionWarnings {
			at := path.Child("typeChecking", "expressionWarnings").Index(i)
			if w.Warning == "" {
				errs = append(errs, field.Required(at.Child("warning"), ""))
			}
			errs = append(errs, validateFieldRef(strings.TrimSpace(w.FieldRef), at.Child("fieldRef"))...)
		}
	}
	return append(errs, metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))...)
}

func validateFieldRef(ref string, path *field.Path) field.ErrorList {
	if ref == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if err := jsonpath.New("spec").Parse("{" + ref + "}"); err != nil {
		return field.ErrorList{field.Invalid(path, ref, fmt.Sprintf("invalid JSONPath: %v", err))}
	}
	return nil
}
