package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/openapi"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// maxTypes is the maximum number of kinds against which the expressions of a policy are checked.
const maxTypes = 10

// TypeCheck checks the validations of a policy and their messages against the types of the kinds in its constraints,
// without wildcards. It compiles each expression with these types in place of dynamic ones, and returns a warning for
// each error, as upstream's TypeChecker does, whose package imports the fake clientset.
func TypeCheck(p *admissionregistrationv1.ValidatingAdmissionPolicy, c *resource.Registry) []admissionregistrationv1.ExpressionWarning {
	var checkers []typeChecker
	params, hasParams := paramType(p.Spec.ParamKind, c)
	for _, kind := range kindsToCheck(p.Spec.MatchConstraints, c) {
		object, err := declType(kind, c, "0")
		if err != nil {
			continue // a kind without a schema is not checked
		}
		if checker, err := newTypeChecker(kind, object, params, hasParams, p.Spec.Variables); err == nil {
			checkers = append(checkers, checker)
		}
	}
	var warnings []admissionregistrationv1.ExpressionWarning
	check := func(path *field.Path, text string) {
		var found []string
		for _, checker := range checkers {
			if warning := checker.check(text); warning != "" {
				found = append(found, warning)
			}
		}
		if len(found) > 0 {
			warnings = append(warnings, admissionregistrationv1.ExpressionWarning{FieldRef: path.String(), Warning: strings.Join(found, "\n")})
		}
	}
	for i, v := range p.Spec.Validations {
		path := field.NewPath("spec", "validations").Index(i)
		check(path.Child("expression"), v.Expression)
		if v.MessageExpression != "" {
			check(path.Child("messageExpression"), v.MessageExpression)
		}
	}
	return warnings
}

// kindsToCheck returns the kinds in constraints, each once, sorted.
func kindsToCheck(m *admissionregistrationv1.MatchResources, c *resource.Registry) []schema.GroupVersionKind {
	if m == nil {
		return nil
	}
	var kinds []schema.GroupVersionKind
rules:
	for _, rule := range m.ResourceRules {
		count := 0
		for _, group := range plain(rule.APIGroups) {
			for _, version := range plain(rule.APIVersions) {
				for _, name := range named(rule.Resources) {
					for _, kind := range kindsFor(c, group, version, name) {
						kinds = append(kinds, kind)
						if count++; count == maxTypes {
							break rules
						}
					}
				}
			}
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(kinds)
}

// plain returns the sorted names, or none if one of them is a wildcard.
func plain(names []string) []string {
	if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "*") }) {
		return nil
	}
	return slices.Sorted(slices.Values(names))
}

// named returns the sorted resources, without wildcards and subresources.
func named(resources []string) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for _, r := range resources {
			if !strings.ContainsAny(r, "*/") && !yield(r) {
				return
			}
		}
	})
}

// kindsFor returns the kinds of a resource, by its plural or singular name. As in a RESTMapper,
// the empty group means any group.
func kindsFor(c *resource.Registry, group, version, name string) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	name = strings.ToLower(name)
	for _, g := range c.Groups() {
		if group != "" && g.Name != group {
			continue
		}
		for _, r := range g.Resources {
			if r.Names.Plural != name && r.Names.Singular != name {
				continue
			}
			if v := r.Version(version); v != nil && v.Served {
				kinds = append(kinds, v.Kind())
			}
		}
	}
	return kinds
}

func paramType(kind *admissionregistrationv1.ParamKind, c *resource.Registry) (t *apiservercel.DeclType, has bool) {
	if kind == nil {
		return nil, false
	}
	gv, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return nil, false
	}
	t, _ = declType(gv.WithKind(kind.Kind), c, "1") // nil: its schema is not published
	return t, true
}

// typeChecker compiles expressions with the types of one kind.
type typeChecker struct {
	kind     schema.GroupVersionKind
	composed *plugincel.CompositedCompiler
}

func newTypeChecker(kind schema.GroupVersionKind, object, params *apiservercel.DeclType, hasParams bool, variables []admissionregistrationv1.Variable) (typeChecker, error) {
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	types := []*apiservercel.DeclType{namespace, request}
	declare := func(t *apiservercel.DeclType, names ...string) (options []cel.EnvOption) {
		typ := cel.DynType
		if t != nil {
			typ = t.CelType()
			types = append(types, t)
		}
		for _, name := range names {
			options = append(options, cel.Variable(name, typ))
		}
		return options
	}
	options := []cel.EnvOption{
		cel.Variable(plugincel.NamespaceVarName, namespace.CelType()),
		cel.Variable(plugincel.RequestVarName, request.CelType()),
		cel.Variable(plugincel.AuthorizerVarName, library.AuthorizerType),
	}
	options = append(options, declare(object, plugincel.ObjectVarName, plugincel.OldObjectVarName)...)
	if hasParams {
		options = append(options, declare(params, plugincel.ParamsVarName)...)
	}
	env, err := environments().Extend(environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options, DeclTypes: types})
	if err != nil {
		return typeChecker{}, err
	}
	composed, err := plugincel.NewCompositedCompilerForTypeChecking(env)
	if err != nil {
		return typeChecker{}, err
	}
	checker := typeChecker{kind, composed}
	composed.Compiler = checker
	composed.CompileAndStoreVariables(variableExpressions(variables), plugincel.OptionalVariableDeclarations{}, environment.StoredExpressions)
	return checker, nil
}

// CompileCELExpression implements plugincel.Compiler. It only checks the types: the result does not have a program.
func (c typeChecker) CompileCELExpression(e plugincel.ExpressionAccessor, _ plugincel.OptionalVariableDeclarations, mode environment.Type) plugincel.CompilationResult {
	env, err := c.composed.Env(mode)
	if err != nil {
		return plugincel.CompilationResult{ExpressionAccessor: e,
			Error: &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: fmt.Sprintf("fail to build env: %v", err)}}
	}
	ast, issues := env.Compile(e.GetExpression())
	if issues != nil {
		return plugincel.CompilationResult{ExpressionAccessor: e,
			Error: &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: issues.String()}}
	}
	return plugincel.CompilationResult{OutputType: ast.OutputType()}
}

// check returns the warning for an expression, or the empty string.
func (c typeChecker) check(text string) string {
	err := c.composed.CompileCELExpression(variableExpression{Expression: text}, plugincel.OptionalVariableDeclarations{}, environment.StoredExpressions).Error
	switch {
	case err == nil:
		return ""
	case err.Type == apiservercel.ErrorTypeInvalid:
		return fmt.Sprintf("%v: %s\n", c.kind, err)
	}
	return fmt.Sprintf("%v: type checking error: %v\n", c.kind, err)
}

var errNoSchema = errors.New("the kind does not have a published schema")

// declType returns the CEL type of a kind, from its published schema.
func declType(kind schema.GroupVersionKind, c *resource.Registry, suffix string) (*apiservercel.DeclType, error) {
	s, err := resolve(kind, c)
	if err != nil {
		return nil, err
	}
	t := common.SchemaDeclType(&openapi.Schema{Schema: s}, true)
	if t == nil {
		return nil, nil
	}
	// The suffix makes names unique, because an object may have the same kind as its parameter.
	return t.MaybeAssignTypeName(kind.Kind + suffix), nil
}
