package player

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	"go.yaml.in/yaml/v3"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// EvaluateCondition returns why the condition is false for an answer; empty: it is true. Values that are too long for
// the line follow on lines of their own.
func EvaluateCondition(c syntax.Condition, a Answer, answers map[string]Answer) string {
	named := map[string]Answer{syntax.AnswerName: a}
	maps.Copy(named, answers)
	value, details, err := syntax.Evaluate(c.Program, variablesOf(named))
	switch {
	case err != nil:
		return fmt.Sprintf("%s: %s: %v", c.Pos, c.Text, redactEvaluationError(c.Program, named, err))
	case value == types.True:
		return ""
	}
	if shown, hides := redactedVariables(named); hides { // the evaluation for the message
		_, details, err = c.Program.Eval(shown)
		if value = types.False; err != nil {
			return fmt.Sprintf("%s: %s is false", c.Pos, c.Text)
		}
	}
	message := fmt.Sprintf("%s: %s is %v", c.Pos, c.Text, value.Value())
	short, long := where(c, details.State())
	if len(short) > 0 {
		message += ", where " + strings.Join(short, " and ")
	}
	for _, value := range long {
		message += "\n" + indent(value)
	}
	return message
}

// A message shows values of up to maxShown bytes in its line, and the first maxLong bytes of longer ones on lines of
// their own.
const (
	maxShown = 200
	maxLong  = 2000
)

// where returns the values of the fields in the condition: the short ones, and those that are too long for a
// line.
func where(c syntax.Condition, state interpreter.EvalState) (short, long []string) {
	var walk func(ast.Expr)
	walk = func(e ast.Expr) {
		if path, ok := syntax.PathOf(e); ok {
			value, evaluated := state.Value(e.ID())
			if !evaluated || value == nil || types.IsUnknownOrError(value) {
				return
			}
			data, err := json.Marshal(value.Value())
			if err != nil {
				return
			}
			if text := fmt.Sprintf("%s is %s", path, data); len(data) > maxShown {
				long = appendNew(long, path+" is\n"+indent(inYAML(value.Value())))
			} else {
				short = appendNew(short, text)
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
	walk(c.AST.Expr())
	return short, long
}

// appendNew appends text unless texts contains it.
func appendNew(texts []string, text string) []string {
	if slices.Contains(texts, text) {
		return texts
	}
	return append(texts, text)
}

// inYAML returns a value as YAML, shortened if it is very long.
func inYAML(value any) string {
	data, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(shortened(string(data), maxLong), "\n")
}

// shortened returns text, cut between two characters if it has more than limit bytes.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
