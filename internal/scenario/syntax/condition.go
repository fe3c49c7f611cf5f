package syntax

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"go.yaml.in/yaml/v3"
)

// AnswerName is the variable of a condition for the answer to its own step.
const AnswerName = "answer"

// Condition is a CEL expression that must be true for an answer.
type Condition struct {
	Pos     Position
	Text    string
	AST     *ast.AST
	Program cel.Program
}

func (p *parser) conditions(n *yaml.Node) []Condition {
	var conditions []Condition
	items := p.items(n, "that")
	if p.resolveNode(n).Kind == yaml.SequenceNode && len(items) == 0 {
		p.mistake(n, "this expectation can never fail: the list \"that\" is empty; remove it, or add a condition")
	}
	for _, item := range items {
		if text := p.text(item); text != "" {
			if c, ok := p.condition(p.resolveNode(item), text); ok {
				conditions = append(conditions, c)
			}
		}
	}
	return conditions
}

func (p *parser) condition(n *yaml.Node, text string) (Condition, bool) {
	answers := append(slices.Clone(p.answers), AnswerName)
	checked, program := p.compile(n, text, append(p.visible(), AnswerName), cel.EvalOptions(cel.OptTrackState))
	if program == nil {
		return Condition{}, false
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		p.mistake(n, "a condition must be true or false, but %s is of type %s", text, t)
		return Condition{}, false
	}
	if !mentions(checked, answers) {
		p.mistake(n, "%s does not refer to an answer, so its value does not depend on the server", text)
		return Condition{}, false
	}
	if why := p.alwaysTrue(checked, append(p.visible(), AnswerName)); why != "" {
		p.mistake(n, "%s can never fail: %s", text, why)
		return Condition{}, false
	}
	return Condition{p.position(n), text, checked.NativeRep(), program}, true
}

// PathOf returns e as text if e is a field or an item of an answer.
func PathOf(e ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), true
	case ast.SelectKind:
		operand, ok := PathOf(e.AsSelect().Operand())
		return operand + "." + e.AsSelect().FieldName(), ok && !e.AsSelect().IsTestOnly()
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index || call.Args()[1].Kind() != ast.LiteralKind {
			return "", false
		}
		operand, ok := PathOf(call.Args()[0])
		index := call.Args()[1].AsLiteral().Value()
		if text, isText := index.(string); isText {
			index = fmt.Sprintf("%q", text)
		}
		return fmt.Sprintf("%s[%v]", operand, index), ok
	}
	return "", false
}
