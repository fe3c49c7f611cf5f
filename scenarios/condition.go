package scenarios

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	"go.yaml.in/yaml/v3"
)

// theAnswer is what a condition calls the answer to its own step.
const theAnswer = "answer"

// condition is a CEL expression that has to be true of an answer.
type condition struct {
	pos     Position
	text    string
	ast     *ast.AST
	program cel.Program
}

func (p *parser) conditions(n *yaml.Node) []condition {
	var all []condition
	for _, item := range p.items(n, "that") {
		if text := p.text(item); text != "" {
			if c, ok := p.condition(p.meant(item), text); ok {
				all = append(all, c)
			}
		}
	}
	return all
}

func (p *parser) condition(n *yaml.Node, text string) (condition, bool) {
	answers := append(slices.Clone(p.answers), theAnswer)
	checked, program := p.compile(n, text, append(p.visible(), theAnswer), cel.EvalOptions(cel.OptTrackState))
	if program == nil {
		return condition{}, false
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		p.mistake(n, "a condition is true or false, and %s is a %s", text, t)
		return condition{}, false
	}
	if !speaksOf(checked, answers) {
		p.mistake(n, "%s speaks of no answer: it is the same whatever the server does", text)
		return condition{}, false
	}
	if why := p.alwaysTrue(checked, append(p.visible(), theAnswer)); why != "" {
		p.mistake(n, "%s can never fail: %s", text, why)
		return condition{}, false
	}
	return condition{p.at(n), text, checked.NativeRep(), program}, true
}

// judge says how the condition is not true of an answer, or nothing if it is.
func (c condition) judge(a answer, answers map[string]answer) string {
	variables := variablesOf(answers)
	variables[theAnswer] = a.body
	value, details, err := c.program.Eval(variables)
	switch {
	case err != nil:
		return fmt.Sprintf("%s: %s: %v", c.pos, c.text, err)
	case value == types.True:
		return ""
	}
	text := fmt.Sprintf("%s: %s is %v", c.pos, c.text, value.Value())
	if where := c.where(details.State()); len(where) > 0 {
		text += ", where " + strings.Join(where, " and ")
	}
	return text
}

// maxShown is how long a value may be that a message shows.
const maxShown = 200

// where says what the fields that the condition speaks of are.
func (c condition) where(state interpreter.EvalState) []string {
	var all []string
	var walk func(ast.Expr)
	walk = func(e ast.Expr) {
		if path, ok := pathOf(e); ok {
			value, known := state.Value(e.ID())
			if !known || value == nil || types.IsUnknownOrError(value) {
				return
			}
			data, err := json.Marshal(value.Value())
			said := fmt.Sprintf("%s is %s", path, data)
			if err == nil && len(data) <= maxShown && !slices.Contains(all, said) {
				all = append(all, said)
			}
			return
		}
		switch e.Kind() {
		case ast.CallKind:
			call := e.AsCall()
			if call.IsMemberFunction() {
				walk(call.Target())
			}
			for _, argument := range call.Args() {
				walk(argument)
			}
		case ast.ListKind:
			for _, element := range e.AsList().Elements() {
				walk(element)
			}
		case ast.ComprehensionKind:
			walk(e.AsComprehension().IterRange())
		}
	}
	walk(c.ast.Expr())
	return all
}

// pathOf is e as its author wrote it, if it is a field or an item of an answer.
func pathOf(e ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), true
	case ast.SelectKind:
		operand, ok := pathOf(e.AsSelect().Operand())
		return operand + "." + e.AsSelect().FieldName(), ok && !e.AsSelect().IsTestOnly()
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index || call.Args()[1].Kind() != ast.LiteralKind {
			return "", false
		}
		operand, ok := pathOf(call.Args()[0])
		index := call.Args()[1].AsLiteral().Value()
		if text, isText := index.(string); isText {
			index = fmt.Sprintf("%q", text)
		}
		return fmt.Sprintf("%s[%v]", operand, index), ok
	}
	return "", false
}
