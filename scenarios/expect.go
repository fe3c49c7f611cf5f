package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// expectation says what an answer has to look like. Anything that it does not mention is
// allowed.
type expectation struct {
	// judged says that the answer is compared to want.
	judged bool
	// refused says that the server has to refuse the request; refusal describes the error. If
	// refusal is a parameter that is !absent in a case, the server has to accept the request.
	refused       bool
	want, refusal any
	// code is the HTTP status, or nil.
	code any
	// warnings are the texts of the Warning headers, or nil.
	warnings any
	// rows are the printed rows, or nil. With wide they have the columns of lower priority,
	// too.
	rows any
	wide bool
	that []condition
}

// expectations returns the readers of the fields of a step that say what is expected.
func (p *parser) expectations(e *expectation) map[string]func(*yaml.Node) {
	judge := func(n *yaml.Node) {
		if e.judged && e.refused && !isMark(e.refusal) {
			p.mistake(n, "a step succeeds or fails: it has expect or error, not both, unless error is the parameter of a case")
		}
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
			before := len(p.mistakes)
			e.want, e.judged = p.tree(n, expectationMarks), true
			if len(p.mistakes) == before {
				if wrong := wrongExpectation(e.want); wrong != "" {
					p.mistake(n, "%s", wrong)
				} else if e.want == nil {
					p.mistake(n, "expect takes what the answer has, and here is nothing; its fields are indented below it")
				} else if (e.want == absent{}) {
					p.mistake(n, "this expectation can never fail: %s expects nothing; leave it out, or use absent to say that an object is not there", tagAbsent)
				}
				p.parameterOfExpectation(n, e.want, "the parameter")
			}
			judge(n)
		},
		"error": func(n *yaml.Node) {
			e.refused, e.refusal = true, p.refusal(n)
			judge(n)
		},
		"code": func(n *yaml.Node) {
			e.code = p.numberOrMark(n, "code", "an HTTP status", 200, 599)
		},
		"warnings": func(n *yaml.Node) {
			e.warnings = p.list(n, "warnings", "of texts; [] is none")
			items, _ := e.warnings.([]any)
			for i, item := range items {
				switch item.(type) {
				case nil, bool, int64, float64, []any, map[string]any:
					p.mistake(p.meant(n).Content[i], "a warning is a text")
				}
			}
		},
		"table": table(false),
		"wide":  table(true),
		"that":  func(n *yaml.Node) { e.that = p.conditions(n) },
	}
}

// list reads a list, in which marks may stand.
func (p *parser) list(n *yaml.Node, what, of string) any {
	before := len(p.mistakes)
	tree := p.tree(n, expectationMarks)
	switch tree.(type) {
	case []any, unordered, from, computed:
	default:
		if len(p.mistakes) == before {
			p.mistake(n, "%s takes a list %s", what, of)
		}
	}
	return tree
}

// refusalFields are the fields that can describe an error: those of a Status, and body for
// an answer that is not a Status.
var refusalFields = []string{"body", "code", "details", "message", "reason", "status"}

// refusal reads the value of "error:". Its fields are known, so that a typo is found before
// anything is played.
func (p *parser) refusal(n *yaml.Node) any {
	before := len(p.mistakes)
	tree := p.tree(n, expectationMarks)
	if f, ok := tree.(from); ok && p.given[f.answer] != nil {
		p.refer(n, f.answer, f.path, wrongRefusal)
	}
	if len(p.mistakes) > before {
		return nil
	}
	if isMark(tree) {
		return tree
	}
	want, ok := tree.(map[string]any)
	if !ok || len(want) == 0 {
		p.mistake(n, "error takes a mapping that says which error, as in {code: 404, reason: NotFound}")
	}
	n = meant(n)
	for i := 0; ok && i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Tag == "!!merge":
		case !slices.Contains(refusalFields, key.Value):
			p.mistake(key, "unknown field %q in an error (known: %s)%s", key.Value, strings.Join(refusalFields, ", "), suggestion(key.Value, refusalFields))
		default:
			if wrong := wrongInRefusal(key.Value, want[key.Value]); wrong != "" {
				p.mistake(n.Content[i+1], "%s", wrong)
			}
		}
	}
	return want
}

// wrongInRefusal says how a field of an error has a value that no error has, or nothing.
func wrongInRefusal(name string, value any) string {
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

// wrongRefusal says what is wrong with the parameter of a case that is an error.
func wrongRefusal(value any) string {
	fields, ok := value.(map[string]any)
	if _, gone := value.(absent); gone || isMark(value) {
		return ""
	}
	if !ok || len(fields) == 0 {
		return "error takes a mapping that says which error, as in {code: 404, reason: NotFound}, or !absent if there is none"
	}
	for _, name := range sortedFields(fields) {
		if !slices.Contains(refusalFields, name) {
			return fmt.Sprintf("unknown field %q in an error (known: %s)%s", name, strings.Join(refusalFields, ", "), suggestion(name, refusalFields))
		}
		if wrong := wrongInRefusal(name, fields[name]); wrong != "" {
			return wrong
		}
	}
	return ""
}

// isMark tells whether a tree is one mark, whose value will be known when the scenario is played.
func isMark(tree any) bool {
	switch tree.(type) {
	case from, computed:
		return true
	}
	return false
}

// judges tells whether there is more to an expectation than that the request succeeds.
func (e expectation) judges() bool {
	return e.judged || e.refused || e.code != nil || e.warnings != nil || e.rows != nil || e.that != nil
}

// judge says how an answer differs from the expectation: in a few words, and with a diff if
// there is one. It returns empty texts if the answer is as expected.
func (e expectation) judge(a answer, answers map[string]answer) (message, difference string) {
	parts, err := resolveItems([]any{e.want, e.refusal, e.code}, answers)
	if err != nil {
		return err.Error(), ""
	}
	e.want, e.refusal, e.code = parts[0], parts[1], number(parts[2])
	if _, none := e.refusal.(absent); none {
		e.refused = false
	}
	if _, none := e.want.(absent); none || e.refused {
		e.judged = false
	}
	if _, none := e.code.(absent); none {
		e.code = nil
	}
	code, ok := e.code.(int64)
	switch {
	case e.refused && !a.refused():
		return fmt.Sprintf("the server answered %s where an error is expected", codeText(a.code)), ""
	case !e.refused && a.refused():
		return fmt.Sprintf("the server refused it: %s", a), ""
	case e.code != nil && !ok:
		return fmt.Sprintf("code is a number, and not %v", e.code), ""
	case e.code != nil && int(code) != a.code:
		return fmt.Sprintf("the server answered %s where %s is expected", codeText(a.code), codeText(int(code))), ""
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
	if e.refused && !compare("error", e.refusal, a.shownRefusal()) {
		return message, difference
	}
	if e.judged && !compare("answer", e.want, a.shownBody()) {
		return message, difference
	}
	if e.warnings != nil && !compare("list of warnings", e.warnings, a.shownWarnings()) {
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
