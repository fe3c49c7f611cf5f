package policy

import (
	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
)

// validationExpression is the expression of a validation, which must be true.
type validationExpression struct {
	*admissionregistrationv1.Validation
}

// GetExpression implements plugincel.ExpressionAccessor.
func (v validationExpression) GetExpression() string { return v.Expression }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (validationExpression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.BoolType} }

// messageExpression is the expression for the message of a failed validation.
type messageExpression string

// GetExpression implements plugincel.ExpressionAccessor.
func (m messageExpression) GetExpression() string { return string(m) }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (messageExpression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.StringType} }

// annotationExpression is the expression for the value of an audit annotation. For null and the empty string there is no
// annotation.
type annotationExpression struct{ Key, Value string }

// GetExpression implements plugincel.ExpressionAccessor.
func (a annotationExpression) GetExpression() string { return a.Value }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (annotationExpression) ReturnTypes() []*cel.Type {
	return []*cel.Type{cel.StringType, cel.NullType}
}

// variableExpression is a named expression that others refer to.
type variableExpression struct{ Name, Expression string }

// GetName implements plugincel.NamedExpressionAccessor.
func (v variableExpression) GetName() string { return v.Name }

// GetExpression implements plugincel.ExpressionAccessor.
func (v variableExpression) GetExpression() string { return v.Expression }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (variableExpression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType, cel.DynType} }

// variableExpressions returns the variables of a policy in order: each may refer to earlier ones.
func variableExpressions(variables []admissionregistrationv1.Variable) []plugincel.NamedExpressionAccessor {
	accessors := make([]plugincel.NamedExpressionAccessor, len(variables))
	for i, v := range variables {
		accessors[i] = variableExpression{v.Name, v.Expression}
	}
	return accessors
}

// variableDeclarations returns the variables of expressions besides object, oldObject, namespaceObject and request.
func variableDeclarations(paramKind *admissionregistrationv1.ParamKind) plugincel.OptionalVariableDeclarations {
	return plugincel.OptionalVariableDeclarations{HasParams: paramKind != nil, HasAuthorizer: true}
}
