package policy

import (
	"slices"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// evaluator is the compiled part that both kinds of policies have. Evaluating an expression that does not compile is an
// error.
type evaluator struct {
	constraints *match
	conditions  matchconditions.Matcher // nil if there are none
	err         error                   // of creating the compiler
	// usesNamespace reports that an expression may use namespaceObject.
	usesNamespace bool
}

// environments has the environments in which expressions are compiled.
var environments = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

func newEvaluator(constraints *admissionregistrationv1.MatchResources, variables []admissionregistrationv1.Variable,
	conditions []admissionregistrationv1.MatchCondition, failure *admissionregistrationv1.FailurePolicyType,
	decls plugincel.OptionalVariableDeclarations) (evaluator, *plugincel.CompositedCompiler) {
	e := evaluator{constraints: newMatch(constraints)}
	compiler, err := plugincel.NewCompositedCompiler(environments())
	if err != nil {
		e.err = err
		return e, nil
	}
	compiler.CompileAndStoreVariables(variableExpressions(variables), decls, environment.StoredExpressions)
	for _, v := range variables {
		e.scan(v.Expression)
	}
	if len(conditions) > 0 {
		accessors := make([]plugincel.ExpressionAccessor, len(conditions))
		for i := range conditions {
			accessors[i] = (*matchconditions.MatchCondition)(&conditions[i])
		}
		e.conditions = matchconditions.NewMatcher(compiler.CompileCondition(accessors, decls, environment.StoredExpressions),
			failure, "policy", "validate", "")
	}
	return e, compiler
}

func (e *evaluator) scan(text string) {
	e.usesNamespace = e.usesNamespace || strings.Contains(text, plugincel.NamespaceVarName)
}

// validatingEvaluator is a compiled ValidatingAdmissionPolicy.
type validatingEvaluator struct {
	evaluator
	validations, messages, annotations plugincel.ConditionEvaluator
	hasMessages, hasAnnotations        bool
}

func compileValidating(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) *validatingEvaluator {
	decls := variableDeclarations(spec.ParamKind)
	common, compiler := newEvaluator(spec.MatchConstraints, spec.Variables, spec.MatchConditions, spec.FailurePolicy, decls)
	v := &validatingEvaluator{evaluator: common, hasAnnotations: len(spec.AuditAnnotations) > 0}
	if v.err != nil {
		return v
	}
	validations := make([]plugincel.ExpressionAccessor, len(spec.Validations))
	messages := make([]plugincel.ExpressionAccessor, len(spec.Validations))
	annotations := make([]plugincel.ExpressionAccessor, len(spec.AuditAnnotations))
	for i := range spec.Validations {
		validation := &spec.Validations[i]
		validations[i] = validationExpression{Validation: validation}
		v.scan(validation.Expression)
		if validation.MessageExpression != "" {
			messages[i] = messageExpression(validation.MessageExpression)
			v.hasMessages = true
			v.scan(validation.MessageExpression)
		}
	}
	for i, a := range spec.AuditAnnotations {
		annotations[i] = annotationExpression{Key: a.Key, Value: a.ValueExpression}
		v.scan(a.ValueExpression)
	}
	v.validations = compiler.CompileCondition(validations, decls, environment.StoredExpressions)
	v.annotations = compiler.CompileCondition(annotations, decls, environment.StoredExpressions)
	decls.HasAuthorizer = false
	v.messages = compiler.CompileCondition(messages, decls, environment.StoredExpressions)
	return v
}

// mutatingEvaluator is a compiled MutatingAdmissionPolicy.
type mutatingEvaluator struct {
	evaluator
	patchers []patch.Patcher
	// compiler creates the context with the variables for patchers.
	compiler *plugincel.CompositedCompiler
}

func compileMutating(spec *admissionregistrationv1.MutatingAdmissionPolicySpec) *mutatingEvaluator {
	decls := variableDeclarations(spec.ParamKind)
	common, compiler := newEvaluator(spec.MatchConstraints, spec.Variables, spec.MatchConditions, spec.FailurePolicy, decls)
	m := &mutatingEvaluator{evaluator: common, compiler: compiler}
	if m.err != nil {
		return m
	}
	decls.HasPatchTypes = true
	for _, mutation := range spec.Mutations {
		switch {
		case mutation.PatchType == admissionregistrationv1.PatchTypeJSONPatch && mutation.JSONPatch != nil:
			e := &patch.JSONPatchCondition{Expression: mutation.JSONPatch.Expression}
			m.scan(e.Expression)
			m.patchers = append(m.patchers, patch.NewJSONPatcher(m.compiler.CompileMutatingEvaluator(e, decls, environment.StoredExpressions)))
		case mutation.PatchType == admissionregistrationv1.PatchTypeApplyConfiguration && mutation.ApplyConfiguration != nil:
			e := &patch.ApplyConfigurationCondition{Expression: mutation.ApplyConfiguration.Expression}
			m.scan(e.Expression)
			m.patchers = append(m.patchers, patch.NewApplyConfigurationPatcher(m.compiler.CompileMutatingEvaluator(e, decls, environment.StoredExpressions)))
		}
	}
	m.patchers = slices.Clip(m.patchers)
	return m
}
