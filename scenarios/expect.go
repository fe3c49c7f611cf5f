package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// expectation is what an answer has to look like. What it does not speak of may be
// anything.
type expectation struct {
	// judged: the answer is compared to want.
	judged bool
	// refused: the server refuses the request, and want describes the error.
	refused bool
	want    any
	// code is the HTTP status, or 0.
	code int
	// warnings are the texts of the Warning headers, or nil.
	warnings any
	// rows are what is printed, or nil; wide, with the columns of lower priority.
	rows any
	wide bool
	that []condition
}

// expectations are the fields of a step that say what is expected.
func (p *parser) expectations(e *expectation) map[string]func(*yaml.Node) {
	judge := func(n *yaml.Node, refused bool) bool {
		if e.judged {
			p.mistake(n, "a step succeeds or fails: it has expect or error, not both")
		}
		e.judged, e.refused = true, refused
		return refused
	}
	table := func(wide bool) func(*yaml.Node) {
		return func(n *yaml.Node) {
			if e.rows != nil {
				p.mistake(n, "an answer is one table: a step has table or wide, not both")
			}
			e.rows, e.wide = p.list(n, "a table", "of rows, the first of them the names of the columns"), wide
		}
	}
	return map[string]func(*yaml.Node){
		"expect": func(n *yaml.Node) {
			judge(n, false)
			e.want = p.tree(n, expectationMarks)
		},
		"error": func(n *yaml.Node) {
			judge(n, true)
			e.want = p.refusal(n)
		},
		"code": func(n *yaml.Node) {
			e.code = p.number(n, "code", "an HTTP status", 200, 599)
		},
		"warnings": func(n *yaml.Node) { e.warnings = p.list(n, "warnings", "of texts; [] is none") },
		"table":    table(false),
		"wide":     table(true),
		"that":     func(n *yaml.Node) { e.that = p.conditions(n) },
	}
}

// list reads a list, in which marks may stand.
func (p *parser) list(n *yaml.Node, what, of string) any {
	before := len(p.mistakes)
	tree := p.tree(n, expectationMarks)
	switch tree.(type) {
	case []any, unordered:
	default:
		if len(p.mistakes) == before {
			p.mistake(n, "%s takes a list %s", what, of)
		}
	}
	return tree
}

// refusalFields are the fields that an error can be described by: those of a
// Status, and body for an answer that is none.
var refusalFields = []string{"body", "code", "details", "message", "reason", "status"}

// refusal reads what stands after "error:". Its fields are known, so a slip in one
// of them is found before anything is played.
func (p *parser) refusal(n *yaml.Node) any {
	before := len(p.mistakes)
	want, ok := p.tree(n, expectationMarks).(map[string]any)
	if len(p.mistakes) > before {
		return nil
	}
	if !ok || len(want) == 0 {
		p.mistake(n, "error takes a mapping that says which error, as in {code: 404, reason: NotFound}")
	}
	n = meant(n)
	for i := 0; ok && i < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Tag != "!!merge" && !slices.Contains(refusalFields, key.Value) {
			p.mistake(key, "unknown field %q in an error (known: %s)", key.Value, strings.Join(refusalFields, ", "))
		}
	}
	return want
}

// judge says how an answer is not as expected: in a few words, with the difference if
// there is one to show. It says nothing if all is well.
func (e expectation) judge(a answer, answers map[string]answer) (message, difference string) {
	switch {
	case e.refused && !a.refused():
		return fmt.Sprintf("the server answered %s where an error is expected", codeText(a.code)), ""
	case !e.refused && a.refused():
		return fmt.Sprintf("the server refused it: %s", a), ""
	case e.code != 0 && e.code != a.code:
		return fmt.Sprintf("the server answered %s where %s is expected", codeText(a.code), codeText(e.code)), ""
	}
	compare := func(what string, want, got any) bool {
		resolved, err := resolve(want, answers)
		if err != nil {
			message = err.Error()
			return false
		}
		if difference = diff(resolved, got); difference != "" {
			message = fmt.Sprintf("the %s is not the expected one", what)
		}
		return message == ""
	}
	if e.judged {
		got, what := a.body, "answer"
		if e.refused {
			got, what = a.refusal(), "error"
		}
		if !compare(what, e.want, got) {
			return message, difference
		}
	}
	if e.warnings != nil && !compare("list of warnings", e.warnings, a.warnings) {
		return message, difference
	}
	if e.rows != nil && !compare("table", e.rows, printed(a.body, e.wide)) {
		return message, difference
	}
	for _, c := range e.that {
		if failed := c.judge(a, answers); failed != "" {
			return failed, ""
		}
	}
	return "", ""
}
