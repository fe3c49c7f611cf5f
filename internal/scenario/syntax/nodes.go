package syntax

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// fields calls the reader of each field of n. It reports a field without a reader as a mistake.
func (p *parser) fields(n *yaml.Node, what string, readers map[string]func(*yaml.Node)) {
	before := len(p.mistakes)
	n = p.resolveNode(n)
	if n.Kind != yaml.MappingNode {
		if len(p.mistakes) > before {
			return
		}
		p.mistake(n, "%s must be a mapping%s", what, withFields(readers))
		return
	}
	p.eachField(n, func(key, value *yaml.Node) {
		read, ok := readers[key.Value]
		if !ok {
			names := slices.Sorted(maps.Keys(readers))
			if len(names) == 0 {
				p.mistake(key, "unknown field %q in %s, which must be empty: {}", key.Value, what)
				return
			}
			p.mistake(key, "unknown field %q in %s (allowed: %s)%s", key.Value, what, strings.Join(names, ", "), Suggestion(key.Value, names))
			return
		}
		read(value)
	})
}

// withFields returns a hint with the fields of a mapping, if there are not too many.
func withFields(readers map[string]func(*yaml.Node)) string {
	switch n := len(readers); {
	case n == 0:
		return ", which must be empty: {}"
	case n > 12:
		return " of field names to values"
	}
	return " (allowed: " + strings.Join(slices.Sorted(maps.Keys(readers)), ", ") + ")"
}

// fieldNode is a field of a mapping with its value.
type fieldNode struct {
	name  string
	value *yaml.Node
}

// subject returns how a message refers to the current value: by its field, or as an item of it.
func (p *parser) subject() string {
	switch {
	case p.field.value == nil:
		return "the value"
	case ResolveAlias(p.field.value).Kind == yaml.SequenceNode:
		return "an item of " + p.field.name
	}
	return p.field.name
}

// notText reports a value that is not a string, or is empty.
func (p *parser) notText(n *yaml.Node) {
	n = ResolveAlias(n)
	switch subject := p.subject(); {
	case n.Kind == yaml.MappingNode:
		p.mistake(n, "%s must be a string, not a mapping", subject)
	case n.Kind == yaml.SequenceNode:
		p.mistake(n, "%s must be a string, not a list", subject)
	case n.Value == "" || n.ShortTag() == "!!null":
		p.mistake(n, "%s must not be empty", subject)
	default:
		p.mistake(n, "%s must be a string: put %s in quotes", subject, n.Value)
	}
}

// ResolveAlias returns n, or the node that n is an alias of.
func ResolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func (p *parser) items(n *yaml.Node, what string) []*yaml.Node {
	before := len(p.mistakes)
	n = p.resolveNode(n)
	if n.Kind != yaml.SequenceNode {
		if len(p.mistakes) > before {
			return nil
		}
		p.mistake(n, "%s takes a list", what)
		return nil
	}
	return n.Content
}

func (p *parser) text(n *yaml.Node) string {
	before := len(p.mistakes)
	if n = p.resolveNode(n); len(p.mistakes) > before {
		return ""
	}
	s, ok := p.tree(n, noMarks).(string)
	if (!ok || s == "") && len(p.mistakes) == before {
		p.notText(n)
	}
	return s
}

func (p *parser) number(n *yaml.Node, what, takes string, from, to int64) int {
	before := len(p.mistakes)
	n = p.resolveNode(n)
	i, ok := p.tree(n, noMarks).(int64)
	if len(p.mistakes) == before && (!ok || i < from || i > to) {
		p.mistake(n, "%s takes %s", what, takes)
	}
	return int(i)
}

func (p *parser) flag(n *yaml.Node) bool {
	before := len(p.mistakes)
	n = p.resolveNode(n)
	b, ok := p.tree(n, noMarks).(bool)
	if !ok && len(p.mistakes) == before {
		p.mistake(n, "%s must be true or false", p.subject())
	}
	return b
}

// textOrMark reads a string, or a mark that is replaced by one.
func (p *parser) textOrMark(n *yaml.Node) any {
	before := len(p.mistakes)
	switch v := p.tree(n, valueMarks).(type) {
	case From, Computed:
		return v
	case string:
		if v != "" {
			return v
		}
	}
	if len(p.mistakes) == before {
		p.notText(n)
	}
	return ""
}

// numberOrMark reads a number, or a mark that is replaced by one.
func (p *parser) numberOrMark(n *yaml.Node, what, takes string, from, to int64) any {
	if tag := ResolveAlias(n).Tag; slices.Contains(valueMarks, tag) {
		return p.tree(n, valueMarks)
	}
	return int64(p.number(n, what, takes, from, to))
}

// duration reads a time such as 1h30m.
func (p *parser) duration(n *yaml.Node) time.Duration {
	before := len(p.mistakes)
	n = p.resolveNode(n)
	text, ok := p.tree(n, noMarks).(string)
	d, err := time.ParseDuration(text)
	if len(p.mistakes) == before && (!ok || err != nil || d <= 0) {
		p.mistake(n, "%s must be a positive duration such as 1s, 30m or 1h30m, not %q", p.subject(), n.Value)
	}
	return d
}
