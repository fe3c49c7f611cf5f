package syntax

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds the values that one file expands to, so that nested aliases are a mistake
// instead of exhausting the memory.
const maxNodes = 1 << 20

// tree returns the JSON value of n, with its marks. A mark that is not among marks is a mistake.
//
// Scalars are read as YAML 1.2; a date is a string, as in Kubernetes.
func (p *parser) tree(n *yaml.Node, marks []string) any {
	if p.nodes++; p.nodes > maxNodes {
		if p.nodes == maxNodes+1 {
			p.mistake(n, "more than %d values in one file", maxNodes)
		}
		return nil
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		return p.mark(n, marks)
	}
	switch n.Kind {
	case yaml.AliasNode:
		if slices.Contains(p.aliases, n.Alias) {
			p.mistake(n, "*%s contains itself", n.Value)
			return nil
		}
		p.aliases = append(p.aliases, n.Alias)
		defer func() { p.aliases = p.aliases[:len(p.aliases)-1] }()
		return p.tree(n.Alias, marks)
	case yaml.MappingNode:
		return p.mapping(n, marks)
	case yaml.SequenceNode:
		return p.sequence(n, marks)
	default:
		return p.scalar(n)
	}
}

func (p *parser) sequence(n *yaml.Node, marks []string) []any {
	items := make([]any, len(n.Content))
	for i, item := range n.Content {
		if item.Tag == TagAbsent {
			p.mistake(item, "%s marks a field that does not exist, and cannot be an item of a list", TagAbsent)
			continue
		}
		items[i] = p.tree(item, marks)
	}
	return items
}

func (p *parser) mapping(n *yaml.Node, marks []string) map[string]any {
	fields := make(map[string]any, len(n.Content)/2)
	var merged []map[string]any
	p.eachField(n, func(key, value *yaml.Node) {
		tree := p.tree(value, marks)
		if key.Tag != "!!merge" {
			fields[key.Value] = tree
			return
		}
		m, ok := tree.(map[string]any)
		if !ok {
			p.mistake(value, "<< takes a mapping")
		}
		merged = append(merged, m)
	})
	// A field of the mapping itself overrides a merged one.
	for _, m := range merged {
		for name, field := range m {
			if _, ok := fields[name]; !ok {
				fields[name] = field
			}
		}
	}
	return fields
}

// eachField calls f for each field of the mapping n, in order. It reports duplicate fields as mistakes and
// skips them.
func (p *parser) eachField(n *yaml.Node, f func(key, value *yaml.Node)) {
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			p.mistake(key, "the name of a field must be a string, not a mapping or a list")
			continue
		}
		if line, twice := seen[key.Value]; twice {
			hint := ""
			if key.Value == "scenario" && key.Column == 1 {
				hint = `; separate two scenarios by a line "---"`
			}
			p.mistake(key, "field %q is given twice, first on line %d%s", key.Value, line, hint)
			continue
		}
		seen[key.Value] = key.Line
		around := p.field
		p.field = fieldNode{key.Value, value}
		f(key, value)
		p.field = around
	}
}

func (p *parser) scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		p.decode(n, &b)
		return b
	case "!!int":
		var i int64
		if n.Decode(&i) == nil {
			return i
		}
		// JSON decodes integers of more than 64 bits as floats.
		var f float64
		p.decode(n, &f)
		return f
	case "!!float":
		var f float64
		p.decode(n, &f)
		if math.IsInf(f, 0) || math.IsNaN(f) {
			p.mistake(n, "%s is not a number in JSON", n.Value)
		}
		return f
	default:
		p.mistake(n, "unknown tag %s", n.ShortTag())
		return nil
	}
}

func (p *parser) decode(n *yaml.Node, into any) {
	if err := n.Decode(into); err != nil {
		p.mistake(n, "%q is not a %s", n.Value, n.ShortTag())
	}
}

func (p *parser) mark(n *yaml.Node, marks []string) any {
	if !slices.Contains(marks, n.Tag) {
		switch {
		case !slices.Contains(expectationMarks, n.Tag) && !slices.Contains(replyMarks, n.Tag):
			p.mistake(n, "unknown tag %s%s", n.Tag, Suggestion(n.Tag, expectationMarks))
		case len(marks) == 0:
			p.mistake(n, "%s is not allowed here", n.Tag)
		default:
			p.mistake(n, "%s is not allowed here (allowed: %s)", n.Tag, strings.Join(marks, ", "))
		}
		return nil
	}
	switch n.Tag {
	case tagOnly:
		if n.Kind != yaml.MappingNode {
			p.mistake(n, "%s takes a mapping", tagOnly)
			return nil
		}
		return Only{p.mapping(n, marks)}
	case TagUnordered:
		if n.Kind != yaml.SequenceNode {
			p.mistake(n, "%s takes a list", TagUnordered)
			return nil
		}
		return Unordered{p.sequence(n, marks)}
	case TagFrom:
		return p.from(n, marks)
	case tagCEL:
		if slices.Contains(marks, TagFrom) {
			return p.computed(n, p.visible())
		}
		return p.computed(n, []string{RequestName})
	}
	if n.Kind != yaml.ScalarNode || n.Value != "" {
		p.mistake(n, "%s takes no value", n.Tag)
	}
	if n.Tag == TagPresent {
		return Present{}
	}
	return Absent{}
}

// from reads a reference to an answer or to a parameter. The parameter may have the marks.
func (p *parser) from(n *yaml.Node, marks []string) any {
	path := strings.Split(n.Value, ".")
	if n.Kind != yaml.ScalarNode || n.Value == "" || slices.Contains(path, "") {
		p.mistake(n, "%s takes the name of an answer and a path in it, as in %s created.metadata.uid", TagFrom, TagFrom)
		return nil
	}
	switch {
	case p.parameters[path[0]] != nil:
		p.checkReference(n, path[0], path[1:], func(value any) string {
			for _, tag := range marksIn(value) {
				if !slices.Contains(marks, tag) && tag != TagFrom && tag != tagCEL {
					return fmt.Sprintf("%s is not allowed where %s is used", tag, strings.Join(path, "."))
				}
			}
			return ""
		})
	case path[0] == CaseName && p.scope == nil:
		p.mistake(n, "the scenario does not have cases")
	case !slices.Contains(p.answers, path[0]):
		p.mistake(n, "no earlier answer is named %q (as: %s)%s", path[0], path[0], p.missing(path[0], p.answers))
	}
	return From{Pos: p.position(n), Answer: path[0], Path: path[1:]}
}
