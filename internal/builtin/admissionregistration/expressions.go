package admissionregistration

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/fakecluster/fakecluster/internal/admission/expression"
)

// Expressions are the texts of expressions that are stored already. They may use
// what new ones may not yet.
type Expressions = sets.Set[string]

// environmentOf is where an expression is compiled.
func environmentOf(text string, stored Expressions) environment.Type {
	if stored.Has(text) {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// plainCompiler compiles expressions that cannot refer to variables. It takes two
// milliseconds to make, once in a process.
var plainCompiler = sync.OnceValue(func() plugincel.Compiler {
	return plugincel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// newCompiler makes a compiler that learns the variables of a policy as they come.
func newCompiler() (*plugincel.CompositedCompiler, error) {
	return plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
}

// validateExpression compiles an expression and says what is wrong with it.
func validateExpression(c plugincel.Compiler, e plugincel.ExpressionAccessor, decls plugincel.OptionalVariableDeclarations,
	env environment.Type, path *field.Path) field.ErrorList {
	return compileError(c.CompileCELExpression(e, decls, env).Error, e.GetExpression(), path)
}

func compileError(err *apiservercel.Error, text string, path *field.Path) field.ErrorList {
	switch {
	case err == nil:
		return nil
	case err.Type == apiservercel.ErrorTypeRequired:
		return field.ErrorList{field.Required(path, err.Detail)}
	case err.Type == apiservercel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(path, text, err.Detail)}
	}
	return field.ErrorList{field.InternalError(path, err)}
}

// ValidateMatchConditions validates conditions that requests have to meet. They
// cannot refer to variables, and to params only where there are some.
func ValidateMatchConditions(conditions []admissionregistrationv1.MatchCondition, hasParams bool, stored Expressions, path *field.Path) field.ErrorList {
	const limit = 64
	var errs field.ErrorList
	if len(conditions) > limit {
		errs = append(errs, field.TooMany(path, len(conditions), limit))
	}
	names := sets.New[string]()
	decls := plugincel.OptionalVariableDeclarations{HasParams: hasParams, HasAuthorizer: true}
	for i, c := range conditions {
		at := path.Index(i)
		if text := strings.TrimSpace(c.Expression); text == "" {
			errs = append(errs, field.Required(at.Child("expression"), ""))
		} else {
			errs = append(errs, validateExpression(plainCompiler(), &matchconditions.MatchCondition{Expression: text}, decls,
				environmentOf(text, stored), at.Child("expression"))...)
		}
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
			continue
		}
		errs = append(errs, validateQualifiedName(c.Name, c.Name, at.Child("name"))...)
		if names.Has(c.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		names.Insert(c.Name)
	}
	return errs
}

func validateQualifiedName(name, value string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, text := range utilvalidation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, value, text))
	}
	return errs
}

var (
	identifier = regexp.MustCompile("^[_a-zA-Z][_a-zA-Z0-9]*$")
	reserved   = sets.New(
		"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
		"let", "loop", "package", "namespace", "return", "var", "void", "while",
	)
)

// validateVariables validates the variables of a policy and has the compiler learn
// them. A variable can refer to those before it.
func validateVariables(c *plugincel.CompositedCompiler, variables []admissionregistrationv1.Variable, decls plugincel.OptionalVariableDeclarations,
	stored Expressions, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, v := range variables {
		at := path.Index(i)
		switch {
		case strings.TrimSpace(v.Name) == "":
			errs = append(errs, field.Required(at.Child("name"), "name is not specified"))
		case !identifier.MatchString(v.Name) || reserved.Has(v.Name):
			errs = append(errs, field.Invalid(at.Child("name"), v.Name, "must be a valid CEL identifier"))
		}
		if strings.TrimSpace(v.Expression) == "" {
			errs = append(errs, field.Required(at.Child("expression"), "expression is not specified"))
			continue
		}
		result := c.CompileAndStoreVariable(expression.Variable{Name: v.Name, Expression: v.Expression}, decls, environmentOf(v.Expression, stored))
		errs = append(errs, compileError(result.Error, v.Expression, at.Child("expression"))...)
	}
	return errs
}

// compilerError is the refusal that nobody should ever see: there is no compiler.
func compilerError(path *field.Path, err error) field.ErrorList {
	return field.ErrorList{field.InternalError(path, errors.Join(fmt.Errorf("making a compiler for expressions"), err))}
}
