package syntax

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// fields calls the reader of each field of n. A field without a reader is a mistake.
func (p *parser) fields(n *yaml.Node, what string, readers map[string]func(*yaml.Node)) {
	before := len(p.mistakes)
	n = p.resolveNode(n)
	if n.Kind != yaml.MappingNode {
		if len(p.mistakes) > before {
			return
		}
		p.mistake(n, "%s must be a mapping", what)
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
		p.mistake(n, "this must be a non-empty string")
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
		p.mistake(n, "this must be true or false")
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
		p.mistake(n, "this must be a non-empty string")
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
		p.mistake(n, "this must be a positive duration such as 1s, 30m or 1h30m, not %q", n.Value)
	}
	return d
}
