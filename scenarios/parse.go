package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parser turns the text of one file into scenarios. It goes on after a mistake, so
// that an author sees all of them at once.
type parser struct {
	file     string
	mistakes []error

	// manifests are the files that the scenarios take manifests from.
	manifests []string
	// answers are the names of the answers so far, in the scenario being read.
	answers []string
	// stubs are the webhooks of that scenario.
	stubs []stubWebhook

	nodes   int
	aliases []*yaml.Node // being expanded
}

func (p *parser) at(n *yaml.Node) Position { return Position{p.file, n.Line} }

func (p *parser) mistake(n *yaml.Node, format string, args ...any) {
	p.mistakes = append(p.mistakes, fmt.Errorf("%s: %w", p.at(n), fmt.Errorf(format, args...)))
}

// yamlMessage takes the line out of what the YAML library says.
var yamlMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// tagTooClose is what the YAML library says of {status: !absent}, which is easily
// written and not YAML.
const tagTooClose = "did not find expected whitespace or line break"

// documents returns the root nodes of the documents in data that hold anything.
func (p *parser) documents(data []byte) []*yaml.Node {
	var roots []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return roots
		}
		if err != nil {
			at, text := Position{p.file, 1}, err.Error()
			if m := yamlMessage.FindStringSubmatch(text); m != nil {
				text = m[2]
				if line, err := strconv.Atoi(m[1]); err == nil {
					at.Line = line
				}
			}
			if text == tagTooClose {
				text += " after a tag (inside of braces that is: {status: !absent })"
			}
			p.mistakes = append(p.mistakes, fmt.Errorf("%s: not YAML: %s", at, text))
			return roots
		}
		if root := document.Content[0]; root.ShortTag() != "!!null" {
			roots = append(roots, root)
		}
	}
}

// parse reads the text of a file.
func parse(path string, data []byte) *file {
	p := &parser{file: path}
	f := &file{path: path}
	if roots := p.documents(data); slices.ContainsFunc(roots, isScenario) {
		lines := map[string]int{}
		for _, root := range roots {
			s := p.scenario(root)
			if line, twice := lines[s.Name]; twice && s.Name != "" {
				p.mistake(root, "a scenario of this name is on line %d already: %q", line, s.Name)
			}
			lines[s.Name] = s.Line
			f.scenarios = append(f.scenarios, s)
		}
	}
	f.mistakes, f.manifests = p.mistakes, p.manifests
	return f
}

// isScenario tells a scenario, though it may have mistakes, from any other YAML.
func isScenario(root *yaml.Node) bool {
	for i := 0; root.Kind == yaml.MappingNode && i < len(root.Content); i += 2 {
		if key := root.Content[i].Value; key == "scenario" || key == "steps" {
			return true
		}
	}
	return false
}

func (p *parser) scenario(root *yaml.Node) *Scenario {
	s := &Scenario{Position: p.at(root)}
	p.answers = nil
	before := len(p.mistakes)
	// First of all, because what follows may refer to them.
	if n := field(root, "webhooks"); n != nil {
		s.webhooks = p.webhooks(n)
	}
	p.stubs = s.webhooks
	p.fields(root, "a scenario", map[string]func(*yaml.Node){
		"webhooks": func(*yaml.Node) {},
		"scenario": func(n *yaml.Node) { s.Name = p.text(n) },
		"cluster":  func(n *yaml.Node) { s.Cluster = p.cluster(n) },
		"setup":    func(n *yaml.Node) { s.setup = p.setup(n) },
		"steps":    func(n *yaml.Node) { s.steps = p.steps(n) },
	})
	if s.Name == "" && len(p.mistakes) == before {
		p.mistake(root, "a scenario needs a name: scenario: A sentence that says the rule")
	}
	if len(s.steps) == 0 && len(p.mistakes) == before {
		p.mistake(root, "a scenario needs steps")
	}
	return s
}

func (p *parser) cluster(n *yaml.Node) ClusterOptions {
	var c ClusterOptions
	p.fields(n, "a cluster", map[string]func(*yaml.Node){
		"legacyAPIs":                func(n *yaml.Node) { c.LegacyAPIs = p.flag(n) },
		"controllers":               func(n *yaml.Node) { c.Controllers = p.names(n, "controllers") },
		"runtimeConfig":             func(n *yaml.Node) { c.RuntimeConfig = p.names(n, "runtimeConfig") },
		"withAdmissionPlugins":      func(n *yaml.Node) { c.WithAdmissionPlugins = p.names(n, "withAdmissionPlugins") },
		"withoutAdmissionPlugins":   func(n *yaml.Node) { c.WithoutAdmissionPlugins = p.names(n, "withoutAdmissionPlugins") },
		"withoutNamespaceLifecycle": func(n *yaml.Node) { c.WithoutNamespaceLifecycle = p.flag(n) },
	})
	return c
}

// names reads a list of strings. An empty list is not nil.
func (p *parser) names(n *yaml.Node, what string) []string {
	all := []string{}
	for _, item := range p.items(n, what) {
		all = append(all, p.text(item))
	}
	return all
}

func (p *parser) setup(n *yaml.Node) []manifest {
	var all []manifest
	for _, item := range p.items(n, "setup") {
		all = append(all, p.manifestsOf(item)...)
	}
	return all
}

func (p *parser) steps(n *yaml.Node) []step {
	var all []step
	for _, item := range p.items(n, "steps") {
		all = append(all, p.step(item))
	}
	return all
}

func (p *parser) step(n *yaml.Node) step {
	s := step{pos: p.at(n)}
	known := p.expectations(&s.expectation)
	known["name"] = func(n *yaml.Node) { s.name = p.text(n) }
	given := map[*beside]*yaml.Node{}
	for _, b := range besides {
		known[b.name] = func(n *yaml.Node) {
			given[b] = n
			b.parse(p, n, &s.request)
		}
	}
	user := known[asUser.name]
	known["as"] = func(n *yaml.Node) { // the name of the answer, or else who asks
		if meant(n).Kind == yaml.MappingNode {
			user(n)
		} else {
			s.as = p.text(n)
		}
	}
	for _, v := range verbs {
		known[v.name] = func(n *yaml.Node) {
			if s.verb != nil {
				p.mistake(n, "a step is one request, and this one has %s and %s", s.verb.name, v.name)
				return
			}
			s.verb, s.argument = v, v.argument.parse(p, n)
		}
	}
	before := len(p.mistakes)
	p.fields(n, "a step", known)
	if s.verb == nil && len(p.mistakes) == before {
		p.mistake(n, "a step needs a request: one of %s", strings.Join(verbNames(), ", "))
	}
	if len(p.mistakes) == before {
		p.together(n, &s, given)
	}
	// Named only now: a step cannot refer to its own answer.
	if s.as != "" {
		p.nameAnswer(n, s.as)
	}
	return s
}

// nameAnswer gives an answer the name that later steps refer to it by.
func (p *parser) nameAnswer(n *yaml.Node, name string) {
	switch {
	case strings.Contains(name, "."):
		p.mistake(n, "the name of an answer has no dots: %q", name)
	case name == theAnswer:
		p.mistake(n, "%q is what conditions call the answer to their own step", name)
	case slices.Contains(p.answers, name):
		p.mistake(n, "an earlier answer is named %q already", name)
	default:
		p.answers = append(p.answers, name)
	}
}

// together finds what cannot stand together in a step, and what has to.
func (p *parser) together(n *yaml.Node, s *step, given map[*beside]*yaml.Node) {
	for _, b := range besides {
		if field := given[b]; field != nil && !b.standsWith(s.verb.name) {
			p.mistake(field, "%s cannot stand beside %s (but beside %s)", b.name, s.verb.name, strings.ReplaceAll(b.verbs, " ", ", "))
		}
	}
	if s.rows != nil {
		if s.verb.name != "get" && s.verb.name != "list" {
			p.mistake(n, "a table is what get and list can print, and this is %s", s.verb.name)
		}
		s.asTable = true
	}
	switch s.verb.name {
	case "webhook":
		if s.judged || s.code != 0 || s.warnings != nil || s.that != nil || s.as != "" {
			p.mistake(n, "no request is made to change a webhook: there is no answer to name or to judge")
		}
	case "patch":
		if s.patchType == "" || s.body == nil {
			p.mistake(n, "a patch needs type and body")
		}
	case "watch":
		events, ok := s.want.([]any)
		if !ok && !s.refused {
			p.mistake(n, "a watch needs expect, with a list of events")
		}
		s.events = len(events)
	}
}

// fields calls the reader of each field of n. A field that known has no reader for
// is a mistake.
func (p *parser) fields(n *yaml.Node, what string, known map[string]func(*yaml.Node)) {
	n = meant(n)
	if n.Kind != yaml.MappingNode {
		p.mistake(n, "%s is a mapping", what)
		return
	}
	p.eachField(n, func(key, value *yaml.Node) {
		read, ok := known[key.Value]
		if !ok {
			p.mistake(key, "unknown field %q in %s (known: %s)", key.Value, what, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			return
		}
		read(value)
	})
}

// meant is n, or what it is an alias of.
func meant(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func (p *parser) items(n *yaml.Node, what string) []*yaml.Node {
	n = meant(n)
	if n.Kind != yaml.SequenceNode {
		p.mistake(n, "%s takes a list", what)
		return nil
	}
	return n.Content
}

func (p *parser) text(n *yaml.Node) string {
	before := len(p.mistakes)
	s, ok := p.tree(n, noMarks).(string)
	if (!ok || s == "") && len(p.mistakes) == before {
		p.mistake(n, "a string that is not empty belongs here")
	}
	return s
}

func (p *parser) number(n *yaml.Node, what, takes string, from, to int64) int {
	i, ok := p.tree(n, noMarks).(int64)
	if !ok || i < from || i > to {
		p.mistake(n, "%s takes %s", what, takes)
	}
	return int(i)
}

func (p *parser) flag(n *yaml.Node) bool {
	before := len(p.mistakes)
	b, ok := p.tree(n, noMarks).(bool)
	if !ok && len(p.mistakes) == before {
		p.mistake(n, "true or false belongs here")
	}
	return b
}
