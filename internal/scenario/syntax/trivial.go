package syntax

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"
)

// An expectation that can never fail proves nothing. The parser rejects those that it can find.

// matchesEverything is the mistake of an expectation that every answer matches.
const matchesEverything = "this expectation can never fail: every answer matches it; remove it, or add fields"

// checkExpectation returns why the parameter of a case is not a valid expectation; empty: it is. !absent, which means no
// expectation, is valid in some of the cases.
func checkExpectation(value any) string {
	if fields, ok := value.(map[string]any); ok && len(fields) == 0 || value == (Present{}) {
		return matchesEverything
	}
	return ""
}

// checkExpectationParameter checks an expectation that is a parameter: it must not match every
// answer in any case, or be !absent in all cases.
func (p *parser) checkExpectationParameter(n *yaml.Node, tree any, name string) {
	f, ok := tree.(From)
	if !ok || f.Answer != CaseName || len(p.parameters[CaseName]) == 0 {
		return
	}
	p.checkReference(n, f.Answer, f.Path, checkExpectation)
	nothing := func(g *parameters) bool {
		value := any(g.values)
		for _, key := range f.Path {
			value, _ = lookUp(value, key)
		}
		return value == Absent{}
	}
	if !slices.ContainsFunc(p.parameters[CaseName], func(g *parameters) bool { return !nothing(g) }) {
		p.mistake(n, "this expectation can never fail: %s is %s in every case, which means no expectation; remove it", name, TagAbsent)
	}
}

// universalFields are the fields that every answer about a kind has. Lists have items, too.
var universalFields = []string{"apiVersion", "kind", "metadata"}

// matchesEveryAnswer reports whether an expectation names only fields that every answer has, whatever
// their values.
func (s *Step) matchesEveryAnswer() bool {
	fields, ok := s.Want.(map[string]any)
	if !ok || s.Argument["path"] != nil || s.Argument["apiVersion"] == nil {
		return false
	}
	for name, value := range fields {
		empty, isMapping := value.(map[string]any)
		trivial := value == Present{} || isMapping && len(empty) == 0 && name == "metadata"
		if !trivial || !slices.Contains(universalFields, name) && !(s.Verb.Name == "list" && name == "items") {
			return false
		}
	}
	return len(fields) > 0
}

// alwaysTrue returns why a condition is true for all answers; empty: it may be false.
func (p *parser) alwaysTrue(checked *cel.Ast, variables []string) string {
	e := checked.NativeRep().Expr()
	if e.Kind() == ast.CallKind {
		call := e.AsCall()
		args := call.Args()
		switch call.FunctionName() {
		case operators.Equals, operators.GreaterEquals, operators.LessEquals:
			if unparsed(checked, args[0]) == unparsed(checked, args[1]) {
				return "its two sides are the same"
			}
		}
		switch call.FunctionName() {
		case operators.GreaterEquals:
			if isSize(args[0]) && isZero(args[1]) {
				return "a size is never less than 0"
			}
		case operators.LessEquals:
			if isSize(args[1]) && isZero(args[0]) {
				return "a size is never less than 0"
			}
		}
	}
	choices := ast.MatchDescendants(ast.NavigateAST(checked.NativeRep()), ast.FunctionMatcher(operators.LogicalOr))
	choices = append(choices, ast.MatchDescendants(ast.NavigateAST(checked.NativeRep()), ast.FunctionMatcher(operators.Conditional))...)
	if len(choices) == 0 {
		return "" // without || or ?: the result depends on the variables
	}
	env, err := p.environment(variables)
	if err != nil {
		return ""
	}
	program, err := env.Program(checked, append(slices.Clone(budget), cel.EvalOptions(cel.OptPartialEval))...)
	if err != nil {
		return ""
	}
	var unknown []*cel.AttributePatternType
	for _, name := range variables {
		unknown = append(unknown, cel.AttributePattern(name))
	}
	if value, _, err := Evaluate(program, map[string]any{}, unknown...); err == nil && value == types.True {
		return "one side of it is always true"
	}
	return ""
}

// unparsed returns a part of an expression as text.
func unparsed(whole *cel.Ast, e ast.Expr) string {
	text, err := cel.ExprToString(e, whole.NativeRep().SourceInfo())
	if err != nil {
		return fmt.Sprint(e.ID()) // unique
	}
	return text
}

func isSize(e ast.Expr) bool { return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "size" }

func isZero(e ast.Expr) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.IntZero
}

// isCountOfAny reports whether the condition is "answer >= 0", which is true for any number of objects.
func (c Condition) isCountOfAny() bool {
	e := c.AST.Expr()
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.GreaterEquals {
		return false
	}
	args := e.AsCall().Args()
	return args[0].Kind() == ast.IdentKind && args[0].AsIdent() == AnswerName && isZero(args[1])
}
