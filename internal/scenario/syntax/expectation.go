package syntax

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Expectation says what an answer has to look like. Anything that it does not mention is
// allowed.
type Expectation struct {
	// HasWant says that the answer is compared to want.
	HasWant bool
	// HasError says that the server has to refuse the request; refusal describes the error. If
	// refusal is a parameter that is !absent in a case, the server has to accept the request.
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
}

// expectations returns the readers of the fields of a step that say what is expected.
func (p *parser) expectations(e *Expectation) map[string]func(*yaml.Node) {
	checkExclusive := func(n *yaml.Node) {
		if e.HasWant && e.HasError && !IsMark(e.Error) {
			p.mistake(n, "a step succeeds or fails: it has expect or error, not both, unless error is the parameter of a case")
		}
	}
	table := func(wide bool) func(*yaml.Node) {
		return func(n *yaml.Node) {
			if e.Rows != nil {
				p.mistake(n, "an answer is one table: a step has table or wide, not both")
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
					p.mistake(n, "expect takes what the answer has, and here is nothing; its fields are indented below it")
				} else if (e.Want == Absent{}) {
					p.mistake(n, "this expectation can never fail: %s expects nothing; leave it out, or use absent to say that an object is not there", TagAbsent)
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
					p.mistake(p.resolveNode(n).Content[i], "a warning is a text")
				}
			}
		},
		"table": table(false),
		"wide":  table(true),
		"that":  func(n *yaml.Node) { e.That = p.conditions(n) },
	}
}

// list reads a list, in which marks may stand.
func (p *parser) list(n *yaml.Node, what, of string) any {
	before := len(p.mistakes)
	tree := p.tree(n, expectationMarks)
	switch tree.(type) {
	case []any, Unordered, From, Computed:
	default:
		if len(p.mistakes) == before {
			p.mistake(n, "%s takes a list %s", what, of)
		}
	}
	return tree
}

// errorFields are the fields that can describe an error: those of a Status, and body for
// an answer that is not a Status.
var errorFields = []string{"body", "code", "details", "message", "reason", "status"}

// errorExpectation reads the value of "error:". Its fields are known, so that a typo is found before
// anything is played.
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
		p.mistake(n, "error takes a mapping that says which error, as in {code: 404, reason: NotFound}")
	}
	n = ResolveAlias(n)
	for i := 0; ok && i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Tag == "!!merge":
		case !slices.Contains(errorFields, key.Value):
			p.mistake(key, "unknown field %q in an error (known: %s)%s", key.Value, strings.Join(errorFields, ", "), Suggestion(key.Value, errorFields))
		default:
			if wrong := checkErrorField(key.Value, want[key.Value]); wrong != "" {
				p.mistake(n.Content[i+1], "%s", wrong)
			}
		}
	}
	return want
}

// checkErrorField says how a field of an error has a value that no error has, or nothing.
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
		return "the code of an error is a number, such as 404"
	case name == "code" && (code < 400 || code > 599):
		return fmt.Sprintf("an error has a code from 400 to 599, and not %d", code)
	case (name == "reason" || name == "message") && !isText:
		return fmt.Sprintf("the %s of an error is a text", name)
	}
	return ""
}

// checkErrorParameter says what is wrong with the parameter of a case that is an error.
func checkErrorParameter(value any) string {
	fields, ok := value.(map[string]any)
	if _, gone := value.(Absent); gone || IsMark(value) {
		return ""
	}
	if !ok || len(fields) == 0 {
		return "error takes a mapping that says which error, as in {code: 404, reason: NotFound}, or !absent if there is none"
	}
	for _, name := range SortedFields(fields) {
		if !slices.Contains(errorFields, name) {
			return fmt.Sprintf("unknown field %q in an error (known: %s)%s", name, strings.Join(errorFields, ", "), Suggestion(name, errorFields))
		}
		if wrong := checkErrorField(name, fields[name]); wrong != "" {
			return wrong
		}
	}
	return ""
}

// IsMark reports whether a tree is one mark, whose value will be known when the scenario is played.
func IsMark(tree any) bool {
	switch tree.(type) {
	case From, Computed:
		return true
	}
	return false
}

// hasChecks reports whether there is more to an expectation than that the request succeeds.
func (e Expectation) hasChecks() bool {
	return e.HasWant || e.HasError || e.Code != nil || e.Warnings != nil || e.Rows != nil || e.That != nil
}
