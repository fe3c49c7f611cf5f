package rewrite

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// source is the text of a YAML file. Changes replace parts of it, and everything else stays as its author wrote it:
// comments, order, quotes, line breaks. The YAML library reports where a node begins; this file finds where it ends.
type source struct {
	text  string
	lines []int // where each line begins
}

func newSource(text []byte) *source {
	s := &source{text: string(text), lines: []int{0}}
	for i := range len(s.text) {
		if s.text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// change replaces a part of a text.
type change struct {
	from, to int
	text     string
}

// with returns the text after the changes. Those that overlap an earlier one are left out.
func (s *source) with(changes []change) []byte {
	slices.SortStableFunc(changes, func(a, b change) int { return a.from - b.from })
	var b bytes.Buffer
	offset := 0
	for i, c := range changes {
		if c.from < offset || i > 0 && c == changes[i-1] {
			continue
		}
		b.WriteString(s.text[offset:c.from])
		b.WriteString(c.text)
		offset = c.to
	}
	b.WriteString(s.text[offset:])
	return b.Bytes()
}

// errUnclear is the error for a node whose end could not be found.
var errUnclear = errors.New("the end of this value in the text cannot be found")

// start returns where a node begins, including its tag.
func (s *source) start(n *yaml.Node) (int, error) {
	if n.Line < 1 || n.Line > len(s.lines) {
		return 0, errUnclear
	}
	offset := s.lines[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(s.text[offset:])
		if offset += size; size == 0 {
			return 0, errUnclear
		}
	}
	return offset, nil
}

// lineEnd returns the end of the line of an offset, without the line break.
func (s *source) lineEnd(offset int) int {
	if i := strings.IndexByte(s.text[offset:], '\n'); i >= 0 {
		return offset + i
	}
	return len(s.text)
}

// lineStart returns the start of the line of an offset.
func (s *source) lineStart(offset int) int { return strings.LastIndexByte(s.text[:offset], '\n') + 1 }

// tagged matches the tag at the beginning of a node.
var tagged = regexp.MustCompile(`^![^\s,\[\]{}]*`)

// end returns where a node ends.
func (s *source) end(n *yaml.Node) (int, error) {
	offset, err := s.start(n)
	if err != nil || n.Anchor != "" || n.Kind == yaml.AliasNode {
		return 0, errUnclear
	}
	if tag := tagged.FindString(s.text[offset:]); tag != "" {
		offset += len(tag)
		if n.Kind == yaml.ScalarNode && n.Value == "" && !strings.HasPrefix(strings.TrimLeft(s.text[offset:], " "), `""`) {
			return offset, nil
		}
		if n.Kind == yaml.ScalarNode || n.Style&yaml.FlowStyle != 0 {
			offset += len(s.text[offset:]) - len(strings.TrimLeft(s.text[offset:], " \t\r\n"))
		}
	}
	if n.Kind != yaml.ScalarNode {
		return s.endOfCollection(n, offset)
	}
	rest := s.text[offset:]
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return offset + i + 1, nil
			}
		}
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			if rest[i] == '\'' {
				if !strings.HasPrefix(rest[i+1:], "'") {
					return offset + i + 1, nil
				}
				i++
			}
		}
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return s.endOfBlock(offset), nil
	default:
		return s.endOfPlain(n, offset)
	}
	return 0, errUnclear
}

// endOfPlain returns where a scalar without quotes ends. It may have several lines.
func (s *source) endOfPlain(n *yaml.Node, offset int) (int, error) {
	for i, word := range strings.Fields(n.Value) {
		if i > 0 {
			offset += len(s.text[offset:]) - len(strings.TrimLeft(s.text[offset:], " \t\r\n"))
		}
		if !strings.HasPrefix(s.text[offset:], word) {
			return 0, errUnclear
		}
		offset += len(word)
	}
	return offset, nil
}

// endOfBlock returns where the literal or folded scalar with its header at an offset ends: after its last line that is
// not empty.
func (s *source) endOfBlock(offset int) int {
	end := s.lineEnd(offset)
	least := 0
	for next := end + 1; next < len(s.text); {
		line := s.text[next:s.lineEnd(next)]
		indent := len(line) - len(strings.TrimLeft(line, " "))
		empty := strings.TrimSpace(line) == ""
		if least == 0 && !empty {
			least = indent
		}
		if !empty && (indent < least || indent == 0) {
			break
		}
		if !empty {
			end = next + len(line)
		}
		next += len(line) + 1
	}
	return end
}

// endOfCollection returns where a mapping or a list ends. offset is its beginning after the tag.
func (s *source) endOfCollection(n *yaml.Node, offset int) (int, error) {
	// A single pair may stand in a list without braces: [a: b].
	flow := n.Style&yaml.FlowStyle != 0 && offset < len(s.text) && strings.ContainsRune("{[", rune(s.text[offset]))
	if len(n.Content) > 0 {
		var err error
		if offset, err = s.end(n.Content[len(n.Content)-1]); err != nil {
			return 0, err
		}
	} else if flow {
		offset++ // the opening bracket
	}
	if !flow {
		return offset, nil
	}
	for offset < len(s.text) {
		switch c := s.text[offset]; {
		case c == '}' || c == ']':
			return offset + 1, nil
		case c == '#':
			offset = s.lineEnd(offset)
		case strings.ContainsRune(" \t\r\n,", rune(c)):
			offset++
		default:
			return 0, errUnclear
		}
	}
	return 0, errUnclear
}

// column returns the distance of an offset from the beginning of its line.
func (s *source) column(offset int) int {
	return utf8.RuneCountInString(s.text[s.lineStart(offset):offset])
}

// MaxFlow is the maximum width of a line with a mapping or a list in braces. Longer ones are written without braces.
const MaxFlow = 110

// InFlow returns a value as YAML in one line, as it is written within braces.
func InFlow(value any, style yaml.Style) string {
	item := nodeOf(value, yaml.FlowStyle)
	if item.Kind == yaml.ScalarNode && item.Tag == "!!str" && style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		item.Style = style
	}
	text := marshalled(&yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{item}})
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "["), "]")
	// The library writes an empty quoted text after a mark. Within braces a space is needed there.
	return strings.TrimSuffix(bareTag.ReplaceAllString(text, "$1 "), " ")
}

// trailing matches spaces at the end of lines.
var trailing = regexp.MustCompile(`(?m) +$`)

// bareTag matches a mark with the empty text that the library writes after it.
var bareTag = regexp.MustCompile(`(!(?:absent|present)) (?:""|'')`)

// InBlock returns a value as YAML outside of braces, after a field name or the dash of an item. Lines after the first
// are indented.
func InBlock(value any, indent int, style yaml.Style, item bool) string {
	node := nodeOf(value, 0)
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" && strings.Contains(node.Value, "\n") == (style == yaml.LiteralStyle) {
		node.Style = style
	}
	compact(node)
	around := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}}
	prefix := "- "
	if !item {
		around = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "k"}, node}}
		prefix = "k:"
	}
	text := strings.TrimPrefix(strings.TrimRight(marshalled(around), "\n"), prefix)
	text = trailing.ReplaceAllString(bareTag.ReplaceAllString(text, "$1 "), "")
	return strings.TrimPrefix(strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", indent)), " ")
}

// short is the maximum length of a mapping or a list that is written in braces.
const short = 70

// compact writes the short mappings and lists in a node in braces.
func compact(n *yaml.Node) {
	for i, child := range n.Content {
		if child.Kind == yaml.ScalarNode {
			continue
		}
		inBraces := *child
		flow(&inBraces)
		text := marshalled(&inBraces)
		if len(text) <= short && strings.Count(text, "\n") == 1 && !strings.Contains(text, `\n`) {
			n.Content[i] = &inBraces
		} else {
			compact(child)
		}
	}
}

// flow writes a node, with all nodes in it, in braces. It changes the node, which must not be shared.
func flow(n *yaml.Node) {
	n.Style = n.Style&^yaml.LiteralStyle | yaml.FlowStyle
	if n.Kind == yaml.ScalarNode {
		n.Style &^= yaml.FlowStyle
	}
	n.Content = slices.Clone(n.Content)
	for i, child := range n.Content {
		copied := *child
		flow(&copied)
		n.Content[i] = &copied
	}
}

func marshalled(n *yaml.Node) string {
	var b strings.Builder
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(n); err != nil {
		panic(err) // nodeOf makes only valid nodes
	}
	return b.String()
}

// first are the fields that are written first in a mapping, as people do.
var first = []string{"apiVersion", "kind", "code", "reason", "message", "metadata", "namespace", "name", "type", "object"}

// nodeOf returns the node of a value, which may contain marks.
func nodeOf(value any, style yaml.Style) *yaml.Node {
	switch v := value.(type) {
	case syntax.Absent:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: syntax.TagAbsent}
	case syntax.Present:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: syntax.TagPresent}
	case syntax.From:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: syntax.TagFrom, Value: strings.TrimPrefix(v.String(), syntax.TagFrom+" ")}
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Style: style}
		names := syntax.SortedFields(v)
		slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
		for _, name := range names {
			n.Content = append(n.Content, nodeOf(name, style), nodeOf(v[name], style))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: style}
		for _, item := range v {
			n.Content = append(n.Content, nodeOf(item, style))
		}
		return n
	}
	n := &yaml.Node{}
	if err := n.Encode(value); err != nil {
		panic(err) // a scalar of JSON is always valid
	}
	return n
}

func rank(name string) int {
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first)
}
