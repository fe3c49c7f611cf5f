package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// rewriting makes the expectations of a step say what the cluster has answered. It changes only
// what is not as expected.
type rewriting struct {
	*source
	of      *Scenario
	step    step
	answers map[string]answer
	// loosely puts !present where a value differs, because another one would differ again.
	loosely bool

	// inTable: the cells of a table are rewritten.
	inTable bool
	changes []change
	// inCase says of each change whether it is in the case, which no other case shares.
	inCase []bool
	// refusals say what cannot be rewritten.
	refusals []string
}

func (r *rewriting) refuse(n *yaml.Node, format string, args ...any) {
	r.refusals = append(r.refusals, fmt.Sprintf("%d:%d: ", n.Line, n.Column)+fmt.Sprintf(format, args...))
}

func (r *rewriting) change(from, to int, text string, own bool) {
	r.changes, r.inCase = append(r.changes, change{from, to, text}), append(r.inCase, own)
}

// place is where a value stands: after a field name or as an item, in braces or not.
type place struct {
	name, n *yaml.Node
	flow    bool
	own     bool // in the case
}

// rewrite goes through what the step expects.
func (r *rewriting) rewrite(a answer) {
	e := r.step.expectation
	n := r.step.node
	at := func(name string) place { return r.fieldOf(place{n: meant(n), flow: isFlow(n)}, name) }
	refusal, err := resolve(e.refusal, r.answers)
	if err != nil {
		r.refuse(n, "%v", err)
		return
	}
	_, none := refusal.(absent)
	switch refused := e.refused && !none; {
	case n.Kind == yaml.AliasNode:
		r.refuse(n, "the step stands elsewhere, too")
	case r.loosely && refused != a.refused():
		r.refuse(n, "the cluster answers otherwise each time: %s", a)
		return
	case refused && !a.refused():
		if isMark(e.refusal) {
			r.value(at("error"), e.refusal, absent{})
		} else {
			r.remove(place{n: n, flow: isFlow(n)}, "error")
		}
	case refused:
		r.value(at("error"), e.refusal, a.refusal())
	case a.refused() && e.refused: // the parameter is !absent
		r.value(at("error"), e.refusal, briefly(a))
	case a.refused() && e.judged:
		expect := at("expect")
		from, err1 := r.start(expect.name)
		to, err2 := r.end(expect.n)
		if err1 != nil || err2 != nil {
			r.refuse(expect.n, "%v", errUnclear)
			return
		}
		r.change(from, to, "error: "+inFlow(briefly(a), 0), false)
		return
	case a.refused():
		r.refuse(n, "the server refuses what the step does, and it expects nothing else")
		return
	case e.judged:
		if want, err := resolve(e.want, r.answers); err != nil || want != (absent{}) {
			r.value(at("expect"), e.want, a.body)
		}
	}
	if e.code != nil {
		if code, err := resolve(e.code, r.answers); err != nil || code != (absent{}) {
			r.value(at("code"), e.code, int64(a.code))
		}
	}
	if e.warnings != nil {
		r.value(at("warnings"), e.warnings, a.warnings)
	}
	if e.rows != nil {
		name := "table"
		if e.wide {
			name = "wide"
		}
		r.inTable = true
		r.value(at(name), e.rows, printed(a.body, e.wide))
		r.inTable = false
	}
	for _, c := range e.that {
		if text := c.judge(a, r.answers); text != "" {
			r.refusals = append(r.refusals, "a condition (that) says what its author means")
			break
		}
	}
}

// briefly returns what matters of the error in a refusal.
func briefly(a answer) map[string]any {
	brief := map[string]any{}
	for name, value := range a.refusal() {
		if slices.Contains([]string{"code", "reason", "message", "body"}, name) {
			brief[name] = value
		}
	}
	return brief
}

func isFlow(n *yaml.Node) bool { return meant(n).Style&yaml.FlowStyle != 0 }

// fieldOf is the place of a field of a mapping.
func (r *rewriting) fieldOf(of place, name string) place {
	n := of.n
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Value == name && key.Tag != "!!merge" {
			return place{key, n.Content[i+1], of.flow || isFlow(n), of.own}
		}
	}
	return place{}
}

// differs tells whether a value is not as a tree says.
func (r *rewriting) differs(tree, got any) bool {
	want, err := resolve(tree, r.answers)
	return err != nil || diff(want, got) != ""
}

// value rewrites the tree at a place so that it expects got; absent{}: no value.
func (r *rewriting) value(at place, tree, got any) {
	n := at.n
	_, gone := got.(absent)
	if n == nil {
		r.refuse(r.step.node, "it is merged from elsewhere")
		return
	}
	if f, ok := tree.(from); ok && f.answer == theCase && r.of.row != nil {
		r.parameter(at, f, got)
		return
	}
	if _, unneeded := tree.(absent); gone && unneeded || !gone && !unneeded && !r.differs(tree, got) {
		return
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.refuse(n, "what stands here stands elsewhere, too")
		return
	case isMark(tree):
		r.refuse(n, "this is computed from other answers")
		return
	case gone:
		r.replace(at, absent{})
		return
	}
	switch tree := tree.(type) {
	case map[string]any:
		if fields, ok := got.(map[string]any); ok {
			r.fields(at, tree, fields, false)
			return
		}
	case only:
		if fields, ok := got.(map[string]any); ok {
			r.fields(at, tree.fields, fields, true)
			return
		}
	case []any:
		if items, ok := got.([]any); ok && len(tree) > 0 && len(items) > 0 {
			r.items(at, tree, items)
			return
		}
	case unordered:
		if items, ok := got.([]any); ok && len(tree.items) > 0 && len(items) >= len(tree.items) {
			want, err := resolveItems(tree.items, r.answers)
			if err == nil {
				r.items(at, tree.items, arranged(want, items))
				return
			}
		}
	}
	r.replace(at, got)
}

// parameter rewrites the value of a case.
func (r *rewriting) parameter(at place, f from, got any) {
	if slices.ContainsFunc(r.of.all(), func(s step) bool { return s.sends(f.path) }) {
		r.refuse(at.n, "requests use %s, too", strings.Join(append([]string{theCase}, f.path...), "."))
		return
	}
	of, tree := place{n: meant(r.of.row), flow: isFlow(r.of.row), own: true}, any(r.of.params)
	for _, key := range f.path {
		fields, ok := tree.(map[string]any)
		if !ok {
			r.refuse(at.n, "it is a part of a parameter")
			return
		}
		of, tree = r.fieldOf(of, key), fields[key]
		if of.n == nil {
			r.refuse(at.n, "its parameter is merged from elsewhere")
			return
		}
	}
	r.value(of, tree, got)
}

// sends tells whether the request of a step uses a parameter of the case.
func (s step) sends(path []string) bool {
	if len(path) == 0 {
		return true
	}
	var by any
	if s.by != nil {
		by = []any{s.by.name, s.by.account, s.by.token, s.by.groups}
	}
	var used func(any) bool
	used = func(tree any) bool {
		switch t := tree.(type) {
		case from:
			return t.answer == theCase && (len(t.path) == 0 || t.path[0] == path[0])
		case computed:
			return strings.Contains(t.text, theCase+"."+path[0])
		case map[string]any:
			for _, field := range t {
				if used(field) {
					return true
				}
			}
		case []any:
			return slices.ContainsFunc(t, used)
		}
		return false
	}
	for outer := s.scope; outer != nil; outer = outer.outer {
		if used(outer.with) {
			return true
		}
	}
	return used(s.argument) || used(s.to) || used(s.body) || used(s.options) || used(s.headers) || used(by)
}

// fields rewrites the fields of a mapping; if it has all, those that are missing in it are added.
func (r *rewriting) fields(at place, tree, got map[string]any, all bool) {
	flow := at.flow || isFlow(at.n)
	for _, name := range sortedFields(tree) {
		field, there := got[name]
		if !there {
			field = absent{}
		}
		if _, none := tree[name].(absent); none && !there {
			continue
		}
		here := r.fieldOf(at, name)
		if here.n == nil && there && !r.differs(tree[name], field) {
			continue
		}
		r.value(here, tree[name], field)
	}
	for _, name := range sortedFields(got) {
		if _, known := tree[name]; all && !known {
			r.add(at, flow, name, got[name])
		}
	}
}

// add writes one more field, or one more item if name is empty.
func (r *rewriting) add(at place, flow bool, name string, value any) {
	n := at.n
	value = r.lasting(name, value)
	if len(n.Content) == 0 {
		r.refuse(n, "it is empty") // !only {} is
		return
	}
	last := n.Content[len(n.Content)-1]
	end, err1 := r.end(last)
	start, err2 := r.start(n.Content[0])
	if err1 != nil || err2 != nil {
		r.refuse(last, "%v", errUnclear)
		return
	}
	if flow {
		text := inFlow(value, 0)
		if name != "" {
			text = inFlow(name, 0) + ": " + text
		}
		r.change(end, end, ", "+r.spaced(text, end), at.own)
		return
	}
	indent := r.column(start)
	text := "\n" + strings.Repeat(" ", indent)
	if name != "" {
		text += inFlow(name, 0) + ": " + r.written(value, indent, len(name), false, 0)
	} else {
		indent = n.Column - 1
		text = "\n" + strings.Repeat(" ", indent) + "- " + r.written(value, indent, 2, true, 0)
	}
	end = r.lineEnd(end)
	r.change(end, end, text, at.own)
}

// items rewrites the items of a list.
func (r *rewriting) items(at place, tree, got []any) {
	flow := at.flow || isFlow(at.n)
	same := 0
	for same < min(len(tree), len(got)) && !r.differs(tree[same], got[same]) {
		same++
	}
	wantEnd, gotEnd := len(tree), len(got)
	for gotEnd <= wantEnd && same < gotEnd && !r.differs(tree[wantEnd-1], got[gotEnd-1]) {
		wantEnd, gotEnd = wantEnd-1, gotEnd-1
	}
	for i := same; i < min(wantEnd, gotEnd); i++ {
		r.value(place{nil, at.n.Content[i], flow, at.own}, tree[i], got[i])
	}
	for _, value := range got[min(wantEnd, gotEnd):gotEnd] {
		r.add(at, flow, "", value)
	}
	if gotEnd < wantEnd {
		r.cut(at, flow, gotEnd, wantEnd)
	}
}

// cut removes items of a list, but not all.
func (r *rewriting) cut(at place, flow bool, from, to int) {
	n := at.n
	place := func(i int, end bool) (at int) {
		var err error
		if end {
			at, err = r.end(n.Content[i])
		} else {
			at, err = r.start(n.Content[i])
		}
		if err != nil {
			r.refuse(n.Content[i], "%v", err)
		}
		return at
	}
	refused := len(r.refusals)
	var begin, end int
	switch {
	case flow && from > 0:
		begin, end = place(from-1, true), place(to-1, true)
	case flow:
		begin, end = place(0, false), place(to, false)
	default:
		begin, end = r.lineStart(place(from, false)), min(r.lineEnd(place(to-1, true))+1, len(r.text))
		if text, err := r.start(n.Content[from]); err == nil && strings.Trim(r.text[begin:text], " -") != "" {
			r.refuse(n.Content[from], "it stands in the line of something else")
		}
	}
	if len(r.refusals) == refused {
		r.change(begin, end, "", at.own)
	}
}

// remove takes a field out of a mapping.
func (r *rewriting) remove(of place, name string) {
	n := of.n
	i := 0
	for n.Content[i].Value != name {
		i += 2
	}
	start, err := r.start(n.Content[i])
	end, err2 := r.end(n.Content[i+1])
	if err != nil || err2 != nil {
		r.refuse(n.Content[i+1], "what stands here stands elsewhere, too")
		return
	}
	switch {
	case i == 0 && len(n.Content) > 2: // up to the next field
		if end, err = r.start(n.Content[2]); err != nil {
			r.refuse(n.Content[2], "%v", err)
			return
		}
	case of.flow:
		start = strings.LastIndexByte(r.text[:start], ',')
	default:
		start, end = r.lineStart(start), min(r.lineEnd(end)+1, len(r.text))
	}
	r.change(start, end, "", of.own)
}

// replace writes a value in place of another.
func (r *rewriting) replace(at place, value any) {
	n := at.n
	start, err := r.start(n)
	end, err2 := r.end(n)
	if err != nil || err2 != nil {
		r.refuse(n, "%v", errUnclear)
		return
	}
	name := ""
	if at.name != nil {
		name = at.name.Value
	}
	if value = r.lasting(name, value); r.loosely {
		if _, gone := value.(absent); !gone {
			value = present{}
		}
	}
	var style yaml.Style
	if n.Kind == yaml.ScalarNode {
		style = n.Style &^ yaml.TaggedStyle
	}
	if at.flow {
		if r.text[start:end] != "" && r.text[start] == '!' && strings.HasPrefix(r.text[end:], " ") && strings.ContainsRune(",]}", rune((r.text + "}")[end+1])) {
			end++ // the space that a mark needs behind it
		}
		text := inFlow(value, style)
		if start == end {
			text = " " + text
		}
		r.change(start, end, r.spaced(text, end), at.own)
		return
	}
	keep := ""
	if _, list := value.([]any); list && n.Tag == tagUnordered {
		keep = tagUnordered + " "
	}
	if at.name == nil {
		r.change(start, end, keep+r.written(value, r.column(start)-2, 0, true, style), at.own)
		return
	}
	key, err := r.start(at.name)
	colon, err2 := r.end(at.name)
	if err != nil || err2 != nil {
		r.refuse(n, "%v", errUnclear)
		return
	}
	colon += strings.IndexByte(r.text[colon:], ':') + 1
	text := keep + r.written(value, r.column(key), len(name), false, style)
	switch below := strings.HasPrefix(text, "\n"); {
	case below || colon == start || r.lineStart(colon) != r.lineStart(start):
		if strings.Contains(r.text[colon:start], "#") {
			r.refuse(n, "a comment stands before it")
			return
		}
		if start = colon; !below {
			text = " " + text
		}
	}
	r.change(start, end, text, at.own)
}

// written returns the text of a value that stands outside of braces. A short one gets braces of its
// own, on one line.
func (r *rewriting) written(value any, indent, column int, item bool, style yaml.Style) string {
	switch value.(type) {
	case map[string]any, []any:
		if short := inFlow(value, 0); indent+column+len(short) <= maxFlow || short == "{}" || short == "[]" {
			return short
		}
	}
	return inBlock(value, indent, style, item)
}

// spaced returns a text with the space that YAML needs between a mark and a comma or the end of braces.
func (r *rewriting) spaced(text string, end int) string {
	if tag := tagged.FindString(text[strings.LastIndexByte(text, ' ')+1:]); tag != "" && end < len(r.text) && strings.ContainsRune(",]}", rune(r.text[end])) {
		return text + " "
	}
	return text
}
