package player

import (
	"fmt"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
	"github.com/fakecluster/fakecluster/internal/statuscondition"
)

// evaluate returns how an answer differs from the expectation, as a message and, for values, a diff. Both are empty if
// the answer is as expected.
func evaluate(e syntax.Expectation, a Answer, answers map[string]Answer) (message, difference string) {
	parts, err := ResolveItems([]any{e.Want, e.Error, e.Code}, answers)
	if err != nil {
		return err.Error(), ""
	}
	e.Want, e.Error, e.Code = parts[0], parts[1], number(parts[2])
	if _, none := e.Error.(syntax.Absent); none {
		e.HasError = false
	}
	if _, none := e.Want.(syntax.Absent); none || e.HasError {
		e.HasWant = false
	}
	if _, none := e.Code.(syntax.Absent); none {
		e.Code = nil
	}
	code, ok := e.Code.(int64)
	switch {
	case e.HasError && !a.IsError():
		return fmt.Sprintf("the server returned %s, but an error is expected", CodeText(a.Code)), ""
	case !e.HasError && a.IsError():
		return fmt.Sprintf("the server rejected the request: %s", a), ""
	case e.Code != nil && !ok:
		return fmt.Sprintf("code must be a number, not %v", e.Code), ""
	case e.Code != nil && int(code) != a.Code:
		return fmt.Sprintf("the server returned %s, but %s is expected", CodeText(a.Code), CodeText(int(code))), ""
	}
	compare := func(what string, want, got any) bool {
		resolved, err := Resolve(want, answers)
		if err != nil {
			message = err.Error()
			return false
		}
		if difference = Diff(resolved, got); difference != "" {
			message = fmt.Sprintf("unexpected %s", what)
		}
		return message == ""
	}
	if e.HasError && !compare("error", e.Error, a.redactedError()) {
		return message, difference
	}
	if e.HasWant && !compare("answer", e.Want, a.redactedBody()) {
		return message, difference
	}
	if e.Warnings != nil && !compare("list of warnings", e.Warnings, a.redactedWarnings()) {
		return message, difference
	}
	if e.Rows != nil && !compare("table", e.Rows, Printed(a.Body, e.Wide)) {
		return message, difference
	}
	if c := e.StatusCondition; c != nil && !e.HasError {
		object, _ := a.redactedBody().(map[string]any)
		if unmet := statuscondition.Unmet(object, c.Type, c.Status); unmet != "" {
			return fmt.Sprintf("%s: %s", c.Pos, unmet), ""
		}
	}
	for _, c := range e.That {
		if failed := EvaluateCondition(c, a, answers); failed != "" {
			return failed, ""
		}
	}
	return "", ""
}
