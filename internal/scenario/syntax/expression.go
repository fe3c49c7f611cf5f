package syntax

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/ext"
	"go.yaml.in/yaml/v3"
)

// expressions is the language of conditions and of !cel: CEL with its usual extensions, and
// merge. It is created once per process, because that takes milliseconds.
var expressions = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(cel.OptionalTypes(), ext.Strings(), ext.Lists(), ext.Sets(), ext.Math(), ext.Encoders(), ext.Bindings(), merge)
})

// environment returns the language with the given variables.
func (p *parser) environment(variables []string) (*cel.Env, error) {
	key := strings.Join(variables, ",")
	if env := p.environments[key]; env != nil {
		return env, nil
	}
	env, err := expressions()
	if err != nil {
		return nil, err
	}
	var options []cel.EnvOption
	for _, name := range variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	if env, err = env.Extend(options...); err != nil {
		return nil, err
	}
	p.environments[key] = env
	return env, nil
}

// visible returns the names that an expression at this place of the file may use.
func (p *parser) visible() []string {
	names := slices.Clone(p.answers)
	for _, name := range []string{CaseName, WithName} {
		if p.parameters[name] != nil {
			names = append(names, name)
		}
	}
	return names
}

// undeclared matches CEL's error about an unknown name.
var undeclared = regexp.MustCompile(`^undeclared reference to '([^']+)'`)

// compile compiles an expression over variables. It reports a mistake in the expression and then returns nil.
func (p *parser) compile(n *yaml.Node, text string, variables []string, options ...cel.ProgramOption) (*cel.Ast, cel.Program) {
	env, err := p.environment(variables)
	if err != nil {
		p.mistake(n, "CEL: %w", err)
		return nil, nil
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		for _, e := range issues.Errors() {
			message := e.Message
			if m := undeclared.FindStringSubmatch(message); m != nil {
				if strings.Contains(text, m[1]+"(") {
					message += Suggestion(m[1], functions(env))
				} else {
					message += p.missing(m[1], variables)
				}
			}
			p.mistakeAt(inside(p.position(n), n, text, e.Location.Line(), e.Location.Column()), "not CEL: %s: %s", text, message)
		}
		return nil, nil
	}
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked.NativeRep()), ast.KindMatcher(ast.SelectKind)) {
		if path, ok := PathOf(e); ok {
			if whose, rest, _ := strings.Cut(path, "."); p.parameters[whose] != nil && !strings.Contains(rest, "[") {
				p.checkReference(n, whose, strings.Split(rest, "."), nil)
			}
		}
	}
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked.NativeRep()), ast.KindMatcher(ast.IdentKind)) {
		if e.AsIdent() == CaseName {
			p.caseUses++
		}
	}
	program, err := env.Program(checked, append(options, budget...)...)
	if err != nil {
		p.mistake(n, "CEL: %s: %w", text, err)
		return nil, nil
	}
	return checked, program
}

// functions returns the names of the functions and macros of a language, without operators.
func functions(env *cel.Env) []string {
	names := slices.Collect(maps.Keys(env.Functions()))
	for _, macro := range env.Macros() {
		names = append(names, macro.Function())
	}
	return slices.DeleteFunc(names, func(name string) bool { return !wordOfCEL.MatchString(name) })
}

// wordOfCEL matches a name, but not an operator.
var wordOfCEL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.]*$`)

// missing returns a hint about an undefined name: the line that defines it later, or a similar name.
func (p *parser) missing(name string, defined []string) string {
	if line, later := p.laterNames[name]; later {
		return fmt.Sprintf("; the name is captured later, on line %d", line)
	}
	return Suggestion(name, defined)
}

// inside returns the position of a character of an expression in the file. For a text of
// several lines, or a folded one, it returns the position of the text.
func inside(outer Position, n *yaml.Node, text string, line, column int) Position {
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || strings.Contains(text, "\n") || line != 1 || column < 0 {
		return outer
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		outer.Column += len(n.Tag) + 1
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		outer.Column++
	}
	outer.Column += column
	return outer
}

// mentions reports whether an expression uses one of the variables.
func mentions(checked *cel.Ast, variables []string) bool {
	return slices.ContainsFunc(ast.MatchDescendants(ast.NavigateAST(checked.NativeRep()), ast.KindMatcher(ast.IdentKind)),
		func(e ast.NavigableExpr) bool { return slices.Contains(variables, e.AsIdent()) })
}
