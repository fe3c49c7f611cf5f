package policy

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// What an expression may be is what the compiler says of it under its type.
func TestTheTypesOfExpressions(t *testing.T) {
	compile := func(e plugincel.ExpressionAccessor, params *admissionregistrationv1.ParamKind) string {
		env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		compiler, err := plugincel.NewCompositedCompiler(env)
		if err != nil {
			t.Fatal(err)
		}
		result := compiler.CompileCELExpression(e, variableDeclarations(params), environment.NewExpressions)
		if result.Error == nil {
			return ""
		}
		text, _, _ := strings.Cut(result.Error.Detail, "\n")
		return text
	}
	validation := func(text string) plugincel.ExpressionAccessor {
		return validationExpression{Validation: &admissionregistrationv1.Validation{Expression: text}}
	}
	kind := &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	for _, c := range []struct {
		rule       string
		expression plugincel.ExpressionAccessor
		params     *admissionregistrationv1.ParamKind
		want       string // the beginning of what is wrong
	}{
		{"a validation is true or false", validation("object.a == 1"), nil, ""},
		{"a validation is nothing else", validation("1"), nil, "must evaluate to bool"},
		{"a message is a text", messageExpression("'a' + string(1)"), nil, ""},
		{"a message is nothing else", messageExpression("object.a"), nil, "must evaluate to string"},
		{"an annotation is a text", annotationExpression{Key: "k", Value: "'a'"}, nil, ""},
		{"an annotation may be left out", annotationExpression{Key: "k", Value: "null"}, nil, ""},
		{"an annotation is nothing else", annotationExpression{Key: "k", Value: "true"}, nil, "must evaluate to one of [string null_type] but got bool"},
		{"a variable is anything", variableExpression{Name: "v", Expression: "[1, 2]"}, nil, ""},
		{"a policy without a kind of parameters has none", validation("params.a == 1"), nil, "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'"},
		{"a policy with a kind of parameters has them", validation("params.a == 1"), kind, ""},
		{"the authorizer can be called", validation("authorizer.group('').resource('pods').check('get').allowed()"), nil, ""},
	} {
		got := compile(c.expression, c.params)
		if got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %q, want %q", c.rule, got, c.want)
		}
	}
}

func TestVariablesKeepTheirOrder(t *testing.T) {
	accessors := variableExpressions([]admissionregistrationv1.Variable{{Name: "b", Expression: "1"}, {Name: "a", Expression: "variables.b"}})
	if len(accessors) != 2 || accessors[0].GetName() != "b" || accessors[1].GetName() != "a" || accessors[1].GetExpression() != "variables.b" {
		t.Errorf("they are %v", accessors)
	}
}
