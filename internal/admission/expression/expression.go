package expression

import (
	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
)

// Validation is the expression of a validation, which must be true.
type Validation struct {
	*admissionregistrationv1.Validation
}

// GetExpression implements plugincel.ExpressionAccessor.
func (v Validation) GetExpression() string { return v.Expression }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (Validation) ReturnTypes() []*cel.Type { return []*cel.Type{cel.BoolType} }

// Message is the expression that makes the message of a failed validation.
type Message string

// GetExpression implements plugincel.ExpressionAccessor.
func (m Message) GetExpression() string { return string(m) }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (Message) ReturnTypes() []*cel.Type { return []*cel.Type{cel.StringType} }

// AuditAnnotation is the expression of the value of an audit annotation. Null and
// the empty string leave the annotation out.
type AuditAnnotation struct{ Key, Value string }

// GetExpression implements plugincel.ExpressionAccessor.
func (a AuditAnnotation) GetExpression() string { return a.Value }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (AuditAnnotation) ReturnTypes() []*cel.Type { return []*cel.Type{cel.StringType, cel.NullType} }

// Variable is a named expression that others refer to.
type Variable struct{ Name, Expression string }

// GetName implements plugincel.NamedExpressionAccessor.
func (v Variable) GetName() string { return v.Name }

// GetExpression implements plugincel.ExpressionAccessor.
func (v Variable) GetExpression() string { return v.Expression }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (Variable) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType, cel.DynType} }

// Variables returns the variables of a policy, in their order: each may refer to those
// before it.
func Variables(variables []admissionregistrationv1.Variable) []plugincel.NamedExpressionAccessor {
	all := make([]plugincel.NamedExpressionAccessor, len(variables))
	for i, v := range variables {
		all[i] = Variable{v.Name, v.Expression}
	}
	return all
}

// Declarations says which variables an expression can use besides object, oldObject,
// namespaceObject and request.
func Declarations(paramKind *admissionregistrationv1.ParamKind) plugincel.OptionalVariableDeclarations {
	return plugincel.OptionalVariableDeclarations{HasParams: paramKind != nil, HasAuthorizer: true}
}
