package syntax

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The names of values from the file, not from an answer.
const (
	CaseName = "case" // the parameters of a case
	WithName = "with" // the parameters of a shared setup
)

// parameters are values from the file. The parser reports a reference to a missing one.
type parameters struct {
	// owner names the owner of the values in messages, such as: the case "none".
	owner  string
	values map[string]any
	used   map[string]bool
	// nodes are mappings with the parameters; the first that has one applies. parser has read them; nil: the parser
	// itself.
	nodes  []*yaml.Node
	parser *parser
}

// cases reads the table of cases.
func (p *parser) cases(n *yaml.Node) []*Scenario {
	var scenarios []*Scenario
	lines := map[string]int{}
	began := len(p.mistakes)
	p.parameters[CaseName] = []*parameters{} // also for a table with mistakes
	for _, item := range p.items(n, "cases") {
		before := len(p.mistakes)
		values, ok := p.tree(item, parameterMarks).(map[string]any)
		if !ok {
			if len(p.mistakes) == before {
				p.mistake(item, "a case must be a mapping of parameters to values, with a name")
			}
			continue
		}
		name, isText := values["name"].(string)
		if given, has := values["name"]; has && !isText && given != nil {
			p.mistake(nodeIn(ResolveAlias(item), "name"), "the name of a case must be a string: put it in quotes")
			continue
		}
		if name == "" {
			p.mistake(item, "a case needs a name: name: a few words that describe the case")
			continue
		}
		if line, twice := lines[name]; twice {
			p.mistake(item, "duplicate case name %q, first on line %d", name, line)
			continue
		}
		position := p.position(item)
		lines[name] = position.Line
		scenarios = append(scenarios, &Scenario{Position: position, Case: name, Params: values, Row: item})
		p.parameters[CaseName] = append(p.parameters[CaseName], &parameters{
			owner: fmt.Sprintf("the case %q", name), values: values, used: map[string]bool{"name": true}, nodes: []*yaml.Node{item},
		})
	}
	if len(scenarios) == 0 && len(p.mistakes) == began {
		p.mistake(n, "cases must not be empty; remove it from a scenario that is played once")
	}
	return scenarios
}

// reportUnused reports the parameters of cases that nothing refers to.
func (p *parser) reportUnused(n *yaml.Node) {
	reported := map[string]bool{}
	for _, g := range p.parameters[CaseName] {
		for _, name := range slices.Sorted(maps.Keys(g.values)) {
			if !g.used[name] && !reported[name] {
				reported[name] = true
				p.mistake(n, "%s has the parameter %q, but nothing refers to it; remove it, or write !from case.%s", g.owner, name, name)
			}
		}
	}
}

// checkReference checks a reference to given values at a path. check is nil, or returns the
// reason why the value is invalid.
func (p *parser) checkReference(n *yaml.Node, to string, path []string, check func(any) string) {
	if to == CaseName {
		p.caseUses++
	}
	for _, g := range p.parameters[to] {
		if len(path) == 0 {
			for name := range g.values {
				g.used[name] = true
			}
			continue
		}
		g.used[path[0]] = true
		value, missing := any(g.values), ""
		for i, key := range path {
			inside, has := lookUp(value, key)
			if !has {
				missing = strings.Join(path[:i+1], ".")
				break
			}
			value = inside
		}
		switch {
		case missing != "":
			p.mistake(n, "%s does not have the parameter %q%s", g.owner, missing, Suggestion(missing, slices.Collect(maps.Keys(g.values))))
		case check != nil:
			if wrong := check(value); wrong != "" {
				p.mistake(n, "%s: %s", g.owner, wrong)
			}
		}
	}
}

// lookUp returns the value at a key, or value itself if it is a mark that is resolved when the scenario is played.
func lookUp(value any, key string) (any, bool) {
	switch v := value.(type) {
	case From, Computed:
		return v, true
	case Only:
		return lookUp(v.Fields, key)
	case Unordered:
		return lookUp(v.Items, key)
	case map[string]any:
		inside, has := v[key]
		return inside, has
	case []any:
		if i, err := strconv.Atoi(key); err == nil && 0 <= i && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// marksIn returns the tags that stand in a tree.
func marksIn(tree any) []string {
	var tags []string
	switch t := tree.(type) {
	case Absent:
		return []string{TagAbsent}
	case Present:
		return []string{TagPresent}
	case From:
		return []string{TagFrom}
	case Computed:
		return []string{tagCEL}
	case Only:
		return append(marksIn(t.Fields), tagOnly)
	case Unordered:
		return append(marksIn(t.Items), TagUnordered)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(t)) {
			tags = append(tags, marksIn(t[name])...)
		}
	case []any:
		for _, item := range t {
			tags = append(tags, marksIn(item)...)
		}
	}
	return tags
}
