package syntax

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The parser needs some values, such as how long a step waits, or the effect of a fault. They can be parameters
// of the case or of the shared setup, because those are in a file, too. A scenario is read once for each case if
// such a value depends on the case.

// noRow is the row of a parser that reads a field that is the same for all cases.
const noRow = -1

// resolveNode returns the node that n is an alias of, the parameter that n refers to, or n.
func (p *parser) resolveNode(n *yaml.Node) *yaml.Node {
	n = ResolveAlias(n)
	whose, path, inside := strings.Cut(n.Value, ".")
	if n.Tag != TagFrom || !inside || p.row == noRow || len(p.parameters[whose]) == 0 {
		return n
	}
	g := p.parameters[whose][0]
	if whose == CaseName {
		g = p.parameters[whose][p.row]
		p.dependsOnCase = true
		p.caseUses++
	}
	keys := strings.Split(path, ".")
	value := g.node(keys[0])
	for _, key := range keys[1:] {
		value = nodeIn(value, key)
	}
	if value == nil {
		p.checkReference(n, whose, keys, nil) // reports that it is missing
		return n
	}
	g.used[keys[0]] = true
	if g.parser == nil {
		return p.resolveNode(value)
	}
	return placed(g.parser.resolveNode(value), n)
}

// isLeftOut reports whether a field is left out in this case: its parameter is !absent.
func (p *parser) isLeftOut(n *yaml.Node) bool {
	return ResolveAlias(n).Tag == TagFrom && p.resolveNode(n).Tag == TagAbsent
}

// node returns the node of a parameter, or nil.
func (g *parameters) node(name string) *yaml.Node {
	for _, parameters := range g.nodes {
		if n := nodeIn(parameters, name); n != nil {
			return n
		}
	}
	return nil
}

// nodeIn returns the node at a key of a mapping or a list, or nil.
func nodeIn(n *yaml.Node, key string) *yaml.Node {
	if n == nil {
		return nil
	}
	n = ResolveAlias(n)
	switch n.Kind {
	case yaml.MappingNode:
		if value := field(n, key); value != nil {
			return value
		}
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Tag != "!!merge" {
				continue
			}
			if value := nodeIn(n.Content[i+1], key); value != nil {
				return value
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && 0 <= i && i < len(n.Content) {
			return n.Content[i]
		}
	}
	return nil
}

// placed returns a copy of a node of another file, for messages at a place in this one.
func placed(n, place *yaml.Node) *yaml.Node {
	c := *n
	c.Line, c.Column = place.Line, place.Column
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, inner := range n.Content {
		c.Content[i] = placed(ResolveAlias(inner), place)
	}
	return &c
}
