package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
	"github.com/fakecluster/fakecluster/internal/statuscondition"
)

// Rewriter rewrites the expectations of a step to the answer of the cluster. It changes only what differs.
type Rewriter struct {
	*source
	scenario *syntax.Scenario
	step     syntax.Step
	answers  map[string]player.Answer
	// usePresent replaces a value that differs by !present, because the next answer would differ again.
	usePresent bool

	// InTable: the cells of a table are rewritten.
	InTable bool
	changes []change
	// inCase reports for each change whether it is in the row of the case, which no other case shares.
	inCase []bool
	// rejections are the reasons why expectations are not rewritten.
	rejections []string
}

func (r *Rewriter) reject(n *yaml.Node, format string, args ...any) {
	r.rejections = append(r.rejections, fmt.Sprintf("%d:%d: ", n.Line, n.Column)+fmt.Sprintf(format, args...))
}

func (r *Rewriter) change(from, to int, text string, own bool) {
	r.changes, r.inCase = append(r.changes, change{from, to, text}), append(r.inCase, own)
}

// place is the position of a value: after a field name or as an item, in braces or not.
type place struct {
	name, n *yaml.Node
	flow    bool
	own     bool // in the row of the case
}

// rewrite compares the answer with each expectation of the step.
func (r *Rewriter) rewrite(a player.Answer) {
	e := r.step.Expectation
	n := r.step.Node
	field := func(name string) place { return r.fieldOf(place{n: syntax.ResolveAlias(n), flow: isFlow(n)}, name) }
	refusal, err := player.Resolve(e.Error, r.answers)
	if err != nil {
		r.reject(n, "%v", err)
		return
	}
	_, none := refusal.(syntax.Absent)
	switch refused := e.HasError && !none; {
	case n.Kind == yaml.AliasNode:
		r.reject(n, "the step is an alias of another value")
	case r.usePresent && refused != a.IsError():
		r.reject(n, "the answer is different in each run: %s", a)
		return
	case refused && !a.IsError():
		if syntax.IsMark(e.Error) {
			r.value(field("error"), e.Error, syntax.Absent{})
		} else {
			r.remove(place{n: n, flow: isFlow(n)}, "error")
		}
	case refused:
		r.value(field("error"), e.Error, a.ErrorFields())
	case a.IsError() && e.HasError: // the parameter is !absent
		r.value(field("error"), e.Error, ErrorSummary(a))
	case a.IsError() && e.HasWant:
		expect := field("expect")
		from, err1 := r.start(expect.name)
		to, err2 := r.end(expect.n)
		if err1 != nil || err2 != nil {
			r.reject(expect.n, "%v", errUnclear)
			return
		}
		r.change(from, to, "error: "+InFlow(ErrorSummary(a), 0), false)
		return
	case a.IsError():
		r.reject(n, "the server rejected the request, but the step does not expect an error")
		return
	case e.HasWant:
		if want, err := player.Resolve(e.Want, r.answers); err != nil || want != (syntax.Absent{}) {
			r.value(field("expect"), e.Want, a.Body)
		}
	}
	if e.Code != nil {
		if code, err := player.Resolve(e.Code, r.answers); err != nil || code != (syntax.Absent{}) {
			r.value(field("code"), e.Code, int64(a.Code))
		}
	}
	if e.Warnings != nil {
		r.value(field("warnings"), e.Warnings, a.Warnings)
	}
	if e.Rows != nil {
		name := "table"
		if e.Wide {
			name = "wide"
		}
		r.InTable = true
		r.value(field(name), e.Rows, player.Printed(a.Body, e.Wide))
		r.InTable = false
	}
	if c := e.StatusCondition; c != nil {
		object, _ := a.Body.(map[string]any)
		if statuscondition.Unmet(object, c.Type, c.Status) != "" {
			r.rejections = append(r.rejections, "condition is not rewritten")
		}
	}
	for _, c := range e.That {
		if text := player.EvaluateCondition(c, a, r.answers); text != "" {
			r.rejections = append(r.rejections, "conditions (that) are not rewritten")
			break
		}
	}
}

// ErrorSummary returns the fields of an error that an expectation should have: code, reason, message and body.
func ErrorSummary(a player.Answer) map[string]any {
	brief := map[string]any{}
	for name, value := range a.ErrorFields() {
		if slices.Contains([]string{"code", "reason", "message", "body"}, name) {
			brief[name] = value
		}
	}
	return brief
}

func isFlow(n *yaml.Node) bool { return syntax.ResolveAlias(n).Style&yaml.FlowStyle != 0 }

// fieldOf returns the place of a field of a mapping.
func (r *Rewriter) fieldOf(parent place, name string) place {
	n := parent.n
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Value == name && key.Tag != "!!merge" {
			return place{key, n.Content[i+1], parent.flow || isFlow(n), parent.own}
		}
	}
	return place{}
}

// differs reports whether a value does not match a tree.
func (r *Rewriter) differs(tree, got any) bool {
	want, err := player.Resolve(tree, r.answers)
	return err != nil || !player.Matches(want, got)
}

// value rewrites the tree at a place so that it expects got; an Absent means no value.
func (r *Rewriter) value(here place, tree, got any) {
	n := here.n
	_, gone := got.(syntax.Absent)
	if n == nil {
		r.reject(r.step.Node, "it is merged from another mapping")
		return
	}
	if f, ok := tree.(syntax.From); ok && f.Answer == syntax.CaseName && r.scenario.Row != nil {
		r.parameter(here, f, got)
		return
	}
	if _, unneeded := tree.(syntax.Absent); gone && unneeded || !gone && !unneeded && !r.differs(tree, got) {
		return
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.reject(n, "the value has an anchor or is an alias")
		return
	case syntax.IsMark(tree):
		r.reject(n, "the value is computed from other answers")
		return
	case gone:
		r.replace(here, syntax.Absent{})
		return
	}
	switch tree := tree.(type) {
	case map[string]any:
		if fields, ok := got.(map[string]any); ok {
			r.fields(here, tree, fields, false)
			return
		}
	case syntax.Only:
		if fields, ok := got.(map[string]any); ok {
			r.fields(here, tree.Fields, fields, true)
			return
		}
	case []any:
		if items, ok := got.([]any); ok && len(tree) > 0 && len(items) > 0 {
			r.items(here, tree, items)
			return
		}
	case syntax.Unordered:
		if items, ok := got.([]any); ok && len(tree.Items) > 0 && len(items) >= len(tree.Items) {
			want, err := player.ResolveItems(tree.Items, r.answers)
			if err == nil {
				r.items(here, tree.Items, player.Arranged(want, items))
				return
			}
		}
	}
	r.replace(here, got)
}

// parameter rewrites a parameter of the case.
func (r *Rewriter) parameter(here place, f syntax.From, got any) {
	if slices.ContainsFunc(r.scenario.All(), func(s syntax.Step) bool { return sends(s, f.Path) }) {
		r.reject(here.n, "requests use %s, too", strings.Join(append([]string{syntax.CaseName}, f.Path...), "."))
		return
	}
	row, tree := place{n: syntax.ResolveAlias(r.scenario.Row), flow: isFlow(r.scenario.Row), own: true}, any(r.scenario.Params)
	for _, key := range f.Path {
		fields, ok := tree.(map[string]any)
		if !ok {
			r.reject(here.n, "it is part of a parameter")
			return
		}
		row, tree = r.fieldOf(row, key), fields[key]
		if row.n == nil {
			r.reject(here.n, "its parameter is merged from another mapping")
			return
		}
	}
	r.value(row, tree, got)
}

// sends reports whether the request of a step uses a parameter of the case.
func sends(s syntax.Step, path []string) bool {
	if len(path) == 0 {
		return true
	}
	var by any
	if s.By != nil {
		by = []any{s.By.Name, s.By.Account, s.By.Token, s.By.Groups}
	}
	var used func(any) bool
	used = func(tree any) bool {
		switch t := tree.(type) {
		case syntax.From:
			return t.Answer == syntax.CaseName && (len(t.Path) == 0 || t.Path[0] == path[0])
		case syntax.Computed:
			return strings.Contains(t.Text, syntax.CaseName+"."+path[0])
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
	for outer := s.Scope; outer != nil; outer = outer.Outer {
		if used(outer.With) {
			return true
		}
	}
	return used(s.Argument) || used(s.To) || used(s.Body) || used(s.Options) || used(s.Headers) || used(by)
}

// fields rewrites the fields of a mapping; if it is exact, those that are missing in it are added.
func (r *Rewriter) fields(mapping place, tree, got map[string]any, exact bool) {
	flow := mapping.flow || isFlow(mapping.n)
	for _, name := range syntax.SortedFields(tree) {
		field, there := got[name]
		if !there {
			field = syntax.Absent{}
		}
		if _, none := tree[name].(syntax.Absent); none && !there {
			continue
		}
		here := r.fieldOf(mapping, name)
		if here.n == nil && there && !r.differs(tree[name], field) {
			continue
		}
		r.value(here, tree[name], field)
	}
	for _, name := range syntax.SortedFields(got) {
		if _, ok := tree[name]; exact && !ok {
			r.add(mapping, flow, name, got[name])
		}
	}
}

// add writes one more field, or one more item if name is empty.
func (r *Rewriter) add(here place, flow bool, name string, value any) {
	n := here.n
	value = r.stable(name, value)
	if len(n.Content) == 0 {
		r.reject(n, "it is empty") // !only {} is
		return
	}
	last := n.Content[len(n.Content)-1]
	end, err1 := r.end(last)
	start, err2 := r.start(n.Content[0])
	if err1 != nil || err2 != nil {
		r.reject(last, "%v", errUnclear)
		return
	}
	if flow {
		text := InFlow(value, 0)
		if name != "" {
			text = InFlow(name, 0) + ": " + text
		}
		r.change(end, end, ", "+r.spaced(text, end), here.own)
		return
	}
	indent := r.column(start)
	text := "\n" + strings.Repeat(" ", indent)
	if name != "" {
		text += InFlow(name, 0) + ": " + r.written(value, indent, len(name), false, 0)
	} else {
		indent = n.Column - 1
		text = "\n" + strings.Repeat(" ", indent) + "- " + r.written(value, indent, 2, true, 0)
	}
	end = r.lineEnd(end)
	r.change(end, end, text, here.own)
}

// items rewrites the items of a list.
func (r *Rewriter) items(here place, tree, got []any) {
	flow := here.flow || isFlow(here.n)
	same := 0
	for same < min(len(tree), len(got)) && !r.differs(tree[same], got[same]) {
		same++
	}
	wantEnd, gotEnd := len(tree), len(got)
	for gotEnd <= wantEnd && same < gotEnd && !r.differs(tree[wantEnd-1], got[gotEnd-1]) {
		wantEnd, gotEnd = wantEnd-1, gotEnd-1
	}
	for i := same; i < min(wantEnd, gotEnd); i++ {
		r.value(place{nil, here.n.Content[i], flow, here.own}, tree[i], got[i])
	}
	for _, value := range got[min(wantEnd, gotEnd):gotEnd] {
		r.add(here, flow, "", value)
	}
	if gotEnd < wantEnd {
		r.cut(here, flow, gotEnd, wantEnd)
	}
}

// cut removes items of a list, but not all.
func (r *Rewriter) cut(here place, flow bool, from, to int) {
	n := here.n
	place := func(i int, end bool) (offset int) {
		var err error
		if end {
			offset, err = r.end(n.Content[i])
		} else {
			offset, err = r.start(n.Content[i])
		}
		if err != nil {
			r.reject(n.Content[i], "%v", err)
		}
		return offset
	}
	refused := len(r.rejections)
	var begin, end int
	switch {
	case flow && from > 0:
		begin, end = place(from-1, true), place(to-1, true)
	case flow:
		begin, end = place(0, false), place(to, false)
	default:
		begin, end = r.lineStart(place(from, false)), min(r.lineEnd(place(to-1, true))+1, len(r.text))
		if text, err := r.start(n.Content[from]); err == nil && strings.Trim(r.text[begin:text], " -") != "" {
			r.reject(n.Content[from], "it is on the same line as another field")
		}
	}
	if len(r.rejections) == refused {
		r.change(begin, end, "", here.own)
	}
}

// remove removes a field from a mapping.
func (r *Rewriter) remove(parent place, name string) {
	n := parent.n
	i := 0
	for n.Content[i].Value != name {
		i += 2
	}
	start, err := r.start(n.Content[i])
	end, err2 := r.end(n.Content[i+1])
	if err != nil || err2 != nil {
		r.reject(n.Content[i+1], "the value has an anchor or is an alias")
		return
	}
	switch {
	case i == 0 && len(n.Content) > 2: // up to the next field
		if end, err = r.start(n.Content[2]); err != nil {
			r.reject(n.Content[2], "%v", err)
			return
		}
	case parent.flow:
		start = strings.LastIndexByte(r.text[:start], ',')
	default:
		start, end = r.lineStart(start), min(r.lineEnd(end)+1, len(r.text))
	}
	r.change(start, end, "", parent.own)
}

// replace writes a value in place of another.
func (r *Rewriter) replace(here place, value any) {
	n := here.n
	start, err := r.start(n)
	end, err2 := r.end(n)
	if err != nil || err2 != nil {
		r.reject(n, "%v", errUnclear)
		return
	}
	name := ""
	if here.name != nil {
		name = here.name.Value
	}
	if value = r.stable(name, value); r.usePresent {
		if _, gone := value.(syntax.Absent); !gone {
			value = syntax.Present{}
		}
	}
	var style yaml.Style
	if n.Kind == yaml.ScalarNode {
		style = n.Style &^ yaml.TaggedStyle
	}
	if here.flow {
		if r.text[start:end] != "" && r.text[start] == '!' && strings.HasPrefix(r.text[end:], " ") && strings.ContainsRune(",]}", rune((r.text + "}")[end+1])) {
			end++ // a mark is followed by a space
		}
		text := InFlow(value, style)
		if start == end {
			text = " " + text
		}
		r.change(start, end, r.spaced(text, end), here.own)
		return
	}
	keep := ""
	if _, list := value.([]any); list && n.Tag == syntax.TagUnordered {
		keep = syntax.TagUnordered + " "
	}
	if here.name == nil {
		r.change(start, end, keep+r.written(value, r.column(start)-2, 0, true, style), here.own)
		return
	}
	key, err := r.start(here.name)
	colon, err2 := r.end(here.name)
	if err != nil || err2 != nil {
		r.reject(n, "%v", errUnclear)
		return
	}
	colon += strings.IndexByte(r.text[colon:], ':') + 1
	text := keep + r.written(value, r.column(key), len(name), false, style)
	switch below := strings.HasPrefix(text, "\n"); {
	case below || colon == start || r.lineStart(colon) != r.lineStart(start):
		if strings.Contains(r.text[colon:start], "#") {
			r.reject(n, "it has a comment before it")
			return
		}
		if start = colon; !below {
			text = " " + text
		}
	}
	r.change(start, end, text, here.own)
}

// written returns the text of a value that stands outside of braces. A short one gets braces of its
// own, on one line.
func (r *Rewriter) written(value any, indent, column int, item bool, style yaml.Style) string {
	switch value.(type) {
	case map[string]any, []any:
		if short := InFlow(value, 0); indent+column+len(short) <= MaxFlow || short == "{}" || short == "[]" {
			return short
		}
	}
	return InBlock(value, indent, style, item)
}

// spaced returns a text, with the space that YAML needs between a mark and a comma or a closing brace.
func (r *Rewriter) spaced(text string, end int) string {
	if tag := tagged.FindString(text[strings.LastIndexByte(text, ' ')+1:]); tag != "" && end < len(r.text) && strings.ContainsRune(",]}", rune(r.text[end])) {
		return text + " "
	}
	return text
}
