package scenarios

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

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
	items := p.items(n, "that")
	if p.meant(n).Kind == yaml.SequenceNode && len(items) == 0 {
		p.mistake(n, "this expectation can never fail: that has no conditions; leave it out, or say what must be true")
	}
	for _, item := range items {
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

// judge says how the condition is not true of an answer, or nothing if it is. A value that is too long
// for the line has lines of its own.
func (c condition) judge(a answer, answers map[string]answer) string {
	all := map[string]answer{theAnswer: a}
	maps.Copy(all, answers)
	value, details, err := evaluate(c.program, variablesOf(all))
	switch {
	case err != nil:
		return fmt.Sprintf("%s: %s: %v", c.pos, c.text, shownError(c.program, all, err))
	case value == types.True:
		return ""
	}
	if shown, hides := hiding(all); hides { // the result is known; this is for what is shown
		_, details, err = c.program.Eval(shown)
		if value = types.False; err != nil {
			return fmt.Sprintf("%s: %s is false", c.pos, c.text)
		}
	}
	message := fmt.Sprintf("%s: %s is %v", c.pos, c.text, value.Value())
	short, long := c.where(details.State())
	if len(short) > 0 {
		message += ", where " + strings.Join(short, " and ")
	}
	for _, value := range long {
		message += "\n" + indent(value)
	}
	return message
}

// maxShown is how long a value may be that a message shows, and maxLong how long one may be that it
// shows on lines of its own.
const (
	maxShown = 200
	maxLong  = 2000
)

// where says what the fields that the condition speaks of are, the short ones and those that are too
// long for a line.
func (c condition) where(state interpreter.EvalState) (short, long []string) {
	var walk func(ast.Expr)
	walk = func(e ast.Expr) {
		if path, ok := pathOf(e); ok {
			value, known := state.Value(e.ID())
			if !known || value == nil || types.IsUnknownOrError(value) {
				return
			}
			data, err := json.Marshal(value.Value())
			if err != nil {
				return
			}
			if said := fmt.Sprintf("%s is %s", path, data); len(data) > maxShown {
				long = appendNew(long, path+" is\n"+indent(inYAML(value.Value())))
			} else {
				short = appendNew(short, said)
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
	return short, long
}

// appendNew appends a text that is not there yet.
func appendNew(all []string, text string) []string {
	if slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

// inYAML returns a value as YAML, shortened if it is very long.
func inYAML(value any) string {
	data, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(shortened(string(data), maxLong), "\n")
}

// shortened returns a text, or the beginning of one that has more bytes than the limit, without half a character.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
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
