package syntax

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Expectation describes the expected answer to a step. Other fields of the answer are not compared.
type Expectation struct {
	// HasWant: the answer is compared with Want.
	HasWant bool
	// HasError: the server must reject the request, and Error describes the error. If Error is a
	// parameter that is !absent in a case, the server must accept the request.
	HasError    bool
	Want, Error any
	// Code is the HTTP status, or nil.
	Code any
	// Warnings are the texts of the Warning headers, or nil.
	Warnings any
	// Rows are the printed rows, or nil. With wide they have the columns of lower priority,
	// too.
	Rows any
	Wide bool
	That []Condition
	// StatusCondition is the condition that the object must have in its status, or nil.
	StatusCondition *StatusCondition
}

// StatusCondition is a condition in the status of an object: TYPE, or TYPE=STATUS.
type StatusCondition struct {
	Pos          Position
	Type, Status string
}

// expectations returns the readers of the fields with the expectations of a step.
func (p *parser) expectations(e *Expectation) map[string]func(*yaml.Node) {
	checkExclusive := func(n *yaml.Node) {
		if e.HasWant && e.HasError && !IsMark(e.Error) {
			p.mistake(n, "a step cannot have both expect and error, unless error is a parameter of the case")
		}
	}
	table := func(wide bool) func(*yaml.Node) {
		return func(n *yaml.Node) {
			if e.Rows != nil {
				p.mistake(n, "a step cannot have both table and wide")
			}
			e.Rows, e.Wide = p.list(n, "a table", "of rows, the first of them the names of the columns"), wide
		}
	}
	return map[string]func(*yaml.Node){
		"expect": func(n *yaml.Node) {
			before := len(p.mistakes)
			e.Want, e.HasWant = p.tree(n, expectationMarks), true
			if len(p.mistakes) == before {
				if wrong := checkExpectation(e.Want); wrong != "" {
					p.mistake(n, "%s", wrong)
				} else if e.Want == nil {
					p.mistake(n, "expect is empty; indent its fields below it")
				} else if (e.Want == Absent{}) {
					p.mistake(n, "this expectation can never fail: %s means no expectation; remove it, or use an absent step to check that an object does not exist", TagAbsent)
				}
				p.checkExpectationParameter(n, e.Want, "the parameter")
			}
			checkExclusive(n)
		},
		"error": func(n *yaml.Node) {
			e.HasError, e.Error = true, p.errorExpectation(n)
			checkExclusive(n)
		},
		"code": func(n *yaml.Node) {
			e.Code = p.numberOrMark(n, "code", "an HTTP status", 200, 599)
		},
		"warnings": func(n *yaml.Node) {
			e.Warnings = p.list(n, "warnings", "of texts; [] is none")
			items, _ := e.Warnings.([]any)
			for i, item := range items {
				switch item.(type) {
				case nil, bool, int64, float64, []any, map[string]any:
					p.mistake(p.resolveNode(n).Content[i], "a warning must be a string")
				}
			}
		},
		"table": table(false),
		"wide":  table(true),
		"that":  func(n *yaml.Node) { e.That = p.conditions(n) },
		"condition": func(n *yaml.Node) {
			if p.isLeftOut(n) {
				return
			}
			if text := p.text(n); text != "" {
				e.StatusCondition = p.statusCondition(n, text)
			}
		},
	}
}

// statusCondition reads TYPE or TYPE=STATUS. The default status is True.
func (p *parser) statusCondition(n *yaml.Node, text string) *StatusCondition {
	conditionType, status, has := strings.Cut(text, "=")
	if !has {
		status = "True"
	}
	if conditionType == "" || !slices.Contains(conditionStatuses, status) {
		p.mistake(n, "condition takes TYPE or TYPE=STATUS, where STATUS is %s, and not %q", strings.Join(conditionStatuses, ", "), text)
	}
	return &StatusCondition{p.position(n), conditionType, status}
}

// conditionStatuses are the statuses that a condition can have.
var conditionStatuses = []string{"True", "False", "Unknown"}

// list reads a list, which may contain marks.
func (p *parser) list(n *yaml.Node, what, element string) any {
	before := len(p.mistakes)
	tree := p.tree(n, expectationMarks)
	switch tree.(type) {
	case []any, Unordered, From, Computed:
	default:
		if len(p.mistakes) == before {
			p.mistake(n, "%s takes a list %s", what, element)
		}
	}
	return tree
}

// errorFields are the fields that can describe an error: those of a Status, and body for
// an answer that is not a Status.
var errorFields = []string{"body", "code", "details", "message", "reason", "status"}

// errorExpectation reads the value of "error:". It reports fields that an error cannot have.
func (p *parser) errorExpectation(n *yaml.Node) any {
	before := len(p.mistakes)
	tree := p.tree(n, expectationMarks)
	if f, ok := tree.(From); ok && p.parameters[f.Answer] != nil {
		p.checkReference(n, f.Answer, f.Path, checkErrorParameter)
	}
	if len(p.mistakes) > before {
		return nil
	}
	if IsMark(tree) {
		return tree
	}
	want, ok := tree.(map[string]any)
	if !ok || len(want) == 0 {
		p.mistake(n, "error takes a mapping that describes the error, as in {code: 404, reason: NotFound}")
	}
	n = ResolveAlias(n)
	for i := 0; ok && i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Tag == "!!merge":
		case !slices.Contains(errorFields, key.Value):
			p.mistake(key, "unknown field %q in an error (allowed: %s)%s", key.Value, strings.Join(errorFields, ", "), Suggestion(key.Value, errorFields))
		default:
			if wrong := checkErrorField(key.Value, want[key.Value]); wrong != "" {
				p.mistake(n.Content[i+1], "%s", wrong)
			}
		}
	}
	return want
}

// checkErrorField returns why a field of an error cannot have a value; empty: it can.
func checkErrorField(name string, value any) string {
	switch value.(type) {
	case nil, bool, int64, float64, string, []any, map[string]any:
	default: // a mark
		return ""
	}
	_, isText := value.(string)
	code, isNumber := value.(int64)
	switch {
	case name == "code" && !isNumber:
		return "the code of an error must be a number, such as 404"
	case name == "code" && (code < 400 || code > 599):
		return fmt.Sprintf("the code of an error must be from 400 to 599, not %d", code)
	case (name == "reason" || name == "message") && !isText:
		return fmt.Sprintf("the %s of an error must be a string", name)
	}
	return ""
}

// checkErrorParameter returns why the parameter of a case is not a valid error; empty: it is.
func checkErrorParameter(value any) string {
	fields, ok := value.(map[string]any)
	if _, gone := value.(Absent); gone || IsMark(value) {
		return ""
	}
	if !ok || len(fields) == 0 {
		return "error takes a mapping that describes the error, as in {code: 404, reason: NotFound}, or !absent if no error is expected"
	}
	for _, name := range SortedFields(fields) {
		if !slices.Contains(errorFields, name) {
			return fmt.Sprintf("unknown field %q in an error (allowed: %s)%s", name, strings.Join(errorFields, ", "), Suggestion(name, errorFields))
		}
		if wrong := checkErrorField(name, fields[name]); wrong != "" {
			return wrong
		}
	}
	return ""
}

// IsMark reports whether a tree is one mark, whose value is resolved when the scenario is played.
func IsMark(tree any) bool {
	switch tree.(type) {
	case From, Computed:
		return true
	}
	return false
}

// hasChecks reports whether the expectation checks more than the success of the request.
func (e Expectation) hasChecks() bool {
	return e.HasWant || e.HasError || e.Code != nil || e.Warnings != nil || e.Rows != nil || e.That != nil || e.StatusCondition != nil
}
