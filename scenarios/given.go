package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The names of values in the file itself, which are not from an answer.
const (
	theCase = "case" // the parameters of a case
	theWith = "with" // the parameters of a shared setup
)

// given are values in the file itself. A reference to a missing one is found before anything is
// played.
type given struct {
	// whose says in messages whose values they are: the case "none".
	whose  string
	values map[string]any
	used   map[string]bool
	// nodes are mappings with the parameters; the first that has one counts. from reads them, if
	// that is not the parser itself.
	nodes []*yaml.Node
	from  *parser
}

// cases reads the table of cases.
func (p *parser) cases(n *yaml.Node) []*Scenario {
	var all []*Scenario
	lines := map[string]int{}
	began := len(p.mistakes)
	p.given[theCase] = []*given{} // so that a table with mistakes is one, too
	for _, item := range p.items(n, "cases") {
		before := len(p.mistakes)
		values, ok := p.tree(item, parameterMarks).(map[string]any)
		if !ok {
			if len(p.mistakes) == before {
				p.mistake(item, "a case is a mapping of parameters to values, with a name")
			}
			continue
		}
		name, isText := values["name"].(string)
		if said, has := values["name"]; has && !isText && said != nil {
			p.mistake(nodeIn(meant(item), "name"), "the name of a case is a text: put it in quotes")
			continue
		}
		if name == "" {
			p.mistake(item, "a case needs a name: name: a few words that say what is special about it")
			continue
		}
		if line, twice := lines[name]; twice {
			p.mistake(item, "a case of this name is on line %d already: %q", line, name)
			continue
		}
		at := p.at(item)
		lines[name] = at.Line
		all = append(all, &Scenario{Position: at, Case: name, params: values, row: item})
		p.given[theCase] = append(p.given[theCase], &given{
			whose: fmt.Sprintf("the case %q", name), values: values, used: map[string]bool{"name": true}, nodes: []*yaml.Node{item},
		})
	}
	if len(all) == 0 && len(p.mistakes) == began {
		p.mistake(n, "a table needs cases; without cases a scenario is one itself")
	}
	return all
}

// unused reports the parameters of cases that nothing refers to.
func (p *parser) unused(n *yaml.Node) {
	told := map[string]bool{}
	for _, g := range p.given[theCase] {
		for _, name := range slices.Sorted(maps.Keys(g.values)) {
			if !g.used[name] && !told[name] {
				told[name] = true
				p.mistake(n, "%s has the parameter %q, and nothing refers to it (!from case.%s)", g.whose, name, name)
			}
		}
	}
}

// refer checks a reference to given values at a path. If check is not nil, it says what is
// wrong with the value.
func (p *parser) refer(n *yaml.Node, to string, path []string, check func(any) string) {
	if to == theCase {
		p.caseUses++
	}
	for _, g := range p.given[to] {
		if len(path) == 0 {
			for name := range g.values {
				g.used[name] = true
			}
			continue
		}
		g.used[path[0]] = true
		value, missing := any(g.values), ""
		for i, key := range path {
			inside, has := within(value, key)
			if !has {
				missing = strings.Join(path[:i+1], ".")
				break
			}
			value = inside
		}
		switch {
		case missing != "":
			p.mistake(n, "%s has no parameter %q%s", g.whose, missing, suggestion(missing, slices.Collect(maps.Keys(g.values))))
		case check != nil:
			if wrong := check(value); wrong != "" {
				p.mistake(n, "%s: %s", g.whose, wrong)
			}
		}
	}
}

// within returns what a value has at a key, or the value itself if it will be known only when
// the scenario is played.
func within(value any, key string) (any, bool) {
	switch v := value.(type) {
	case from, computed:
		return v, true
	case only:
		return within(v.fields, key)
	case unordered:
		return within(v.items, key)
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
	case absent:
		return []string{tagAbsent}
	case present:
		return []string{tagPresent}
	case from:
		return []string{tagFrom}
	case computed:
		return []string{tagCEL}
	case only:
		return append(marksIn(t.fields), tagOnly)
	case unordered:
		return append(marksIn(t.items), tagUnordered)
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
