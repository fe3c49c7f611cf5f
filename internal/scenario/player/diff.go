package player

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// contextLines is how many lines that match are shown before and after a line that differs.
const contextLines = 2

// Diff returns the difference of got from want as lines of YAML: "- " marks what is expected, "+ " what the server
// returned. Of the lines that match, it has those near a difference and the names of the enclosing fields. It is empty
// if got matches. want is a resolved tree, got a JSON value.
func Diff(want, got any) string {
	w, g := renderedSides(want, got)
	if reflect.DeepEqual(w, g) {
		return ""
	}
	d := &yamlDiff{}
	d.both(place{}, w, g)
	return d.text()
}

// yamlDiff is a difference that is being written.
type yamlDiff struct{ lines []diffLine }

// diffLine is a line: '-' of what is expected, '+' of what is returned, or ' ' of both.
type diffLine struct {
	mark   byte
	indent int // in steps of two spaces
	text   string
}

// depth orders lines by how deep they are in the tree: an item of a list is deeper than the field of the list,
// although both have the same indentation.
func (l diffLine) depth() int {
	if strings.HasPrefix(l.text, "- ") {
		return 2*l.indent + 1
	}
	return 2 * l.indent
}

// place is where the next line of a value begins. dashes has "- " for each list item that begins on this line.
type place struct {
	indent int
	dashes string
}

// after returns the place of the lines after the first one.
func (p place) after() place { return place{p.indent + len(p.dashes)/2, ""} }

// item returns the place of an item of a list that begins here.
func (p place) item() place { return place{p.indent, p.dashes + "- "} }

func (d *yamlDiff) line(mark byte, p place, text string) {
	d.lines = append(d.lines, diffLine{mark, p.indent, p.dashes + text})
}

// both writes two values, which may be equal, at the same place.
func (d *yamlDiff) both(p place, want, got any) {
	if reflect.DeepEqual(want, got) {
		d.one(' ', p, want)
		return
	}
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok && (p.dashes == "" || shareField(w, g)) {
			d.bothFields(p, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok && len(w) > 0 && len(g) > 0 && p.dashes == "" {
			for i := range w {
				d.both(p.item(), w[i], g[i])
			}
			return
		}
	}
	d.one('-', p, want)
	d.one('+', p, got)
}

// bothFields writes two mappings, of which one may be empty.
func (d *yamlDiff) bothFields(p place, want, got map[string]any) {
	begins := map[byte]bool{'-': true, '+': true} // whether the mapping begins with the next line of this side
	marked := func(marks string) place {
		first := false
		for _, mark := range []byte(marks) {
			first, begins[mark] = first || begins[mark], false
		}
		if first {
			return p
		}
		return p.after()
	}
	for _, name := range fieldOrder(p, want, got) {
		w, wanted := want[name]
		g, there := got[name]
		switch {
		case !there:
			d.field('-', marked("-"), name, w)
		case !wanted:
			d.field('+', marked("+"), name, g)
		case reflect.DeepEqual(w, g):
			d.field(' ', marked("-+"), name, w)
		case differInside(w, g):
			inside := d.open(' ', marked("-+"), name, w)
			d.both(inside, w, g)
		case isBlock(w) && isBlock(g):
			p := marked("-+")
			d.bothBlocks(p, name, w.(string), g.(string))
		default:
			d.field('-', marked("-"), name, w)
			d.field('+', marked("+"), name, g)
		}
	}
}

// shareField reports whether two mappings have a field with the same value, or with values inside which the difference can be shown.
func shareField(want, got map[string]any) bool {
	for name, w := range want {
		if g, there := got[name]; there && (reflect.DeepEqual(w, g) || differInside(w, g)) {
			return true
		}
	}
	return false
}

// differInside reports whether the difference of two values is shown inside them: of two mappings, and of two lists with content.
func differInside(want, got any) bool {
	switch want.(type) {
	case map[string]any:
		_, ok := got.(map[string]any)
		return ok
	case []any:
		_, ok := got.([]any)
		return ok && nests(want) && nests(got)
	}
	return false
}

// fieldOrder returns the names of the fields in the order in which they are written: sorted, except that an item of a list begins
// with a field that says which item it is, or with one that both sides have.
func fieldOrder(p place, want, got map[string]any) []string {
	fields := maps.Clone(want)
	maps.Copy(fields, got)
	names := slices.Sorted(maps.Keys(fields))
	if p.dashes == "" || len(names) == 0 {
		return names
	}
	first, best := 0, 0
	for i, name := range names {
		w, wanted := want[name]
		g, there := got[name]
		value := 0
		switch {
		case wanted && there && reflect.DeepEqual(w, g) && slices.Contains([]string{"name", "type", "key", "kind"}, name):
			value = 3
		case wanted && there && reflect.DeepEqual(w, g):
			value = 2
		case wanted && there:
			value = 1
		}
		if value > best {
			first, best = i, value
		}
	}
	name := names[first]
	return slices.Insert(slices.Delete(names, first, first+1), 0, name)
}

// one writes a value of one side, or of both.
func (d *yamlDiff) one(mark byte, p place, value any) {
	switch v := value.(type) {
	case missing:
	case map[string]any:
		if len(v) == 0 {
			d.line(mark, p, "{}")
		}
		for _, name := range fieldOrder(p, v, v) {
			d.field(mark, p, name, v[name])
			p = p.after()
		}
	case []any:
		if p.dashes != "" && !slices.ContainsFunc(v, nests) { // such as a row of a table
			d.line(mark, p, inFlow(v))
			return
		}
		if len(v) == 0 {
			d.line(mark, p, "[]")
		}
		for _, item := range v {
			d.one(mark, p.item(), item)
			p = p.after()
		}
	default:
		d.line(mark, p, scalar(value))
	}
}

// field writes a field with its value.
func (d *yamlDiff) field(mark byte, p place, name string, value any) {
	switch {
	case nests(value):
		inside := d.open(mark, p, name, value)
		d.one(mark, inside, value)
	case isBlock(value):
		header, lines := block(value.(string))
		d.line(mark, p, key(name)+": "+header)
		for _, line := range lines {
			d.line(mark, place{p.after().indent + 1, ""}, line)
		}
	default:
		d.line(mark, p, key(name)+": "+scalar(value))
	}
}

// open writes the line of a field whose value is a mapping or a list with content, and returns the place of the value.
func (d *yamlDiff) open(mark byte, p place, name string, value any) place {
	d.line(mark, p, key(name)+":")
	inside := p.after()
	if _, ok := value.(map[string]any); ok {
		inside.indent++
	}
	return inside
}

// bothBlocks writes a field whose values are different texts of many lines.
func (d *yamlDiff) bothBlocks(p place, name, want, got string) {
	header, w := block(want)
	other, g := block(got)
	if header == other {
		d.line(' ', p, key(name)+": "+header)
	} else {
		d.line('-', p, key(name)+": "+header)
		d.line('+', p, key(name)+": "+other)
	}
	inside := place{p.after().indent + 1, ""}
	for _, pair := range align(len(w), len(g), func(i, j int) bool { return w[i] == g[j] }) {
		switch {
		case pair[0] >= 0 && pair[1] >= 0 && w[pair[0]] == g[pair[1]]:
			d.line(' ', inside, w[pair[0]])
			continue
		case pair[0] >= 0:
			d.line('-', inside, w[pair[0]])
		}
		if pair[1] >= 0 {
			d.line('+', inside, g[pair[1]])
		}
	}
}

// text returns the lines, without those that match and are far from a difference.
func (d *yamlDiff) text() string {
	shown := make([]bool, len(d.lines))
	for i, line := range d.lines {
		if line.mark == ' ' {
			continue
		}
		for j := max(0, i-contextLines); j < min(len(d.lines), i+contextLines+1); j++ {
			shown[j] = true
		}
	}
	for i, line := range d.lines {
		depth := line.depth()
		for j := i - 1; shown[i] && j >= 0 && depth > 0; j-- {
			if above := d.lines[j]; above.mark == ' ' && above.depth() < depth {
				shown[j], depth = true, above.depth()
			}
		}
	}
	var b strings.Builder
	for i := 0; i < len(d.lines); i++ {
		hidden := 0
		for i+hidden < len(d.lines) && !shown[i+hidden] {
			hidden++
		}
		line := d.lines[i]
		if hidden > 1 {
			fmt.Fprintf(&b, "  %s# … %d lines match\n", strings.Repeat("  ", line.indent), hidden)
			i += hidden - 1
			continue
		}
		fmt.Fprintf(&b, "%c %s%s\n", line.mark, strings.Repeat("  ", line.indent), line.text)
	}
	return b.String()
}

// nests reports whether a value is a mapping or a list with content.
func nests(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// isBlock reports whether a value is written as lines of their own.
func isBlock(value any) bool {
	text, ok := value.(string)
	if !ok || !strings.Contains(strings.TrimRight(text, "\n"), "\n") || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") || strings.HasSuffix(text, "\n\n") {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f })
}

// block returns a text as YAML writes it in lines, and what stands in the line before.
func block(text string) (header string, lines []string) {
	if body, ends := strings.CutSuffix(text, "\n"); ends {
		return "|", strings.Split(body, "\n")
	}
	return "|-", strings.Split(text, "\n")
}

// scalar returns a value in a line of YAML.
func scalar(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "{}"
	case []any:
		return "[]"
	case placeholder:
		return string(v)
	case string:
		if strings.ContainsAny(v, "\n") {
			value = &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: v}
		}
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// simpleKey matches the names of fields that are written without quotes.
var simpleKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// key returns the name of a field in YAML. Words that old versions of YAML read as booleans, such as n, are written as they are.
func key(name string) string {
	if simpleKey.MatchString(name) {
		return name
	}
	return scalar(name)
}

// inFlow returns a list of scalars in a line of YAML.
func inFlow(items []any) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = scalar(item)
		if text, ok := item.(string); ok && strings.ContainsAny(texts[i], ",[]{}") && !strings.HasPrefix(texts[i], `"`) && !strings.HasPrefix(texts[i], "'") {
			node := &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: text}
			if quoted, err := yaml.Marshal(node); err == nil {
				texts[i] = strings.TrimSuffix(string(quoted), "\n")
			}
		}
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
