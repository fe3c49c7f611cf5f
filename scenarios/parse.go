package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/admission/plugins"
)

// parser turns the text of one file into scenarios. It goes on after a mistake, so
// that an author sees all of them at once.
type parser struct {
	file     string
	mistakes []error

	// manifests are the files that the scenarios take manifests and shared setups from.
	manifests []string
	// answers are the names of the answers so far, in the scenario being read; later are the lines
	// of the steps that name those to come.
	answers []string
	later   map[string]int
	// given are the values that stand in the file: of "case", for each case, and of "with".
	given map[string][]*given
	// caseUses is how often something has referred to a case.
	caseUses int
	// row is the case that is being read, and varies says that what was read depends on it.
	row    int
	varies bool
	// stubs are the webhooks of that scenario.
	stubs []stubWebhook
	// scope is that of the shared setup being read, and using are the files of those around it.
	scope *scope
	using []string

	environments map[string]*cel.Env // by the names of their variables
	nodes        int
	aliases      []*yaml.Node // being expanded
}

func newParser(path string) *parser {
	return &parser{file: path, given: map[string][]*given{}, environments: map[string]*cel.Env{}}
}

func (p *parser) at(n *yaml.Node) Position { return Position{p.file, n.Line, n.Column} }

func (p *parser) mistake(n *yaml.Node, format string, args ...any) {
	p.mistakeAt(p.at(n), format, args...)
}

func (p *parser) mistakeAt(at Position, format string, args ...any) {
	p.mistakes = append(p.mistakes, fmt.Errorf("%s: %w", at.exactly(), fmt.Errorf(format, args...)))
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
			at, text := Position{File: p.file, Line: 1}, err.Error()
			if m := yamlMessage.FindStringSubmatch(text); m != nil {
				text = m[2]
				if line, err := strconv.Atoi(m[1]); err == nil {
					at.Line = line
				}
			}
			at, text = explained(at, text, string(data))
			p.mistakes = append(p.mistakes, fmt.Errorf("%s: not YAML: %s", at.exactly(), text))
			return roots
		}
		if root := document.Content[0]; root.ShortTag() != "!!null" {
			roots = append(roots, root)
		}
	}
}

// unknownAnchor is what the YAML library says of an alias without its anchor. It does not say where that is.
var unknownAnchor = regexp.MustCompile(`^unknown anchor '([^']+)' referenced$`)

// explained returns what the YAML library says of a text in clearer words, and more exactly where, for
// mistakes that are easily made.
func explained(at Position, message, text string) (Position, string) {
	lines := strings.Split(text, "\n")
	if message == tagTooClose {
		return at, message + " after a tag (inside of braces that is: {status: !absent })"
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		alias := regexp.MustCompile(`(?:^|[\s\[{,:])(\*` + regexp.QuoteMeta(m[1]) + `)(?:$|[\s\]},:])`)
		for i, line := range lines {
			if found := alias.FindStringSubmatchIndex(line); found != nil {
				at.Line, at.Column = i+1, utf8.RuneCountInString(line[:found[2]])+1
				return at, fmt.Sprintf("*%s is no alias: no value before it has the anchor &%s", m[1], m[1])
			}
		}
	}
	if line := at.Line - 1; line < len(lines) {
		before, _, tab := strings.Cut(lines[line], "\t")
		if tab && strings.Trim(before, " -") == "" {
			at.Column = len(before) + 1
			return at, "a tab cannot indent: use spaces"
		}
	}
	return at, message
}

// parse reads the text of a file.
func parse(path string, data []byte) *file {
	p := newParser(path)
	f := &file{path: path}
	if roots := p.documents(data); slices.ContainsFunc(roots, isScenario) {
		lines := map[string]int{}
		for _, root := range roots {
			all := p.scenario(root)
			name := all[0].Name
			if line, twice := lines[name]; twice && name != "" {
				p.mistake(root, "a scenario of this name is on line %d already: %q", line, name)
			}
			lines[name] = root.Line
			f.scenarios = append(f.scenarios, all...)
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

// scenario reads a document. It returns one scenario, or one for each of its cases.
func (p *parser) scenario(root *yaml.Node) []*Scenario {
	s := &Scenario{Position: p.at(root)}
	p.answers, p.given, p.caseUses, p.row, p.varies = nil, map[string][]*given{}, 0, 0, false
	before := len(p.mistakes)
	var cases []*Scenario
	if n := field(root, "cases"); n != nil {
		s.table = &table{}
		cases = p.cases(n)
	}
	// First of all, because what follows may refer to them.
	if n := field(root, "webhooks"); n != nil {
		p.row = noRow
		s.webhooks = p.webhooks(n)
		p.row = 0
	}
	p.stubs = s.webhooks
	p.readCase(root, s)
	each := []*Scenario{s}
	for p.varies && len(each) < len(cases) {
		p.row = len(each)
		c := &Scenario{Position: s.Position, webhooks: s.webhooks, table: s.table}
		p.readCase(root, c)
		each = append(each, c)
	}
	p.once(before)
	if s.Name == "" && len(p.mistakes) == before {
		p.mistake(root, "a scenario needs a name: scenario: A sentence that says the rule")
	}
	if len(s.steps) == 0 && len(p.mistakes) == before {
		p.mistake(root, "a scenario needs steps")
	}
	if len(p.mistakes) == before && s.table != nil {
		p.unused(field(root, "cases"))
	}
	if len(cases) == 0 {
		return []*Scenario{s}
	}
	s.table.cases = len(cases)
	for i, c := range cases {
		at, name, params, row := c.Position, c.Case, c.params, c.row
		*c = *each[min(i, len(each)-1)]
		c.Position, c.Case, c.params, c.row = at, name, params, row
	}
	return cases
}

// readCase reads what a document says for one of its cases, or for all.
func (p *parser) readCase(root *yaml.Node, s *Scenario) {
	answers := slices.Clone(p.answers) // of webhooks
	defer func() { p.answers = answers }()
	p.later = map[string]int{}
	// same reads what is the same for all cases.
	same := func(read func(*yaml.Node)) func(*yaml.Node) {
		return func(n *yaml.Node) {
			row := p.row
			defer func() { p.row = row }()
			p.row = noRow
			read(n)
		}
	}
	p.fields(root, "a scenario", map[string]func(*yaml.Node){
		"webhooks": func(*yaml.Node) {},
		"cases":    func(*yaml.Node) {},
		"scenario": same(func(n *yaml.Node) { s.Name = p.text(n) }),
		"cluster":  same(func(n *yaml.Node) { s.Cluster = p.cluster(n) }),
		"setup":    func(n *yaml.Node) { s.setup = p.setup(n, s.table) },
		"steps":    func(n *yaml.Node) { s.steps = p.steps(n) },
	})
}

// once keeps one of the mistakes that were found in several cases, of those from a number on.
func (p *parser) once(from int) {
	told := map[string]bool{}
	p.mistakes = append(p.mistakes[:from:from], slices.DeleteFunc(slices.Clone(p.mistakes[from:]), func(err error) bool {
		again := told[err.Error()]
		told[err.Error()] = true
		return again
	})...)
}

func (p *parser) cluster(n *yaml.Node) ClusterOptions {
	var c ClusterOptions
	p.fields(n, "a cluster", map[string]func(*yaml.Node){
		"alone":                     func(n *yaml.Node) { c.Alone = p.flag(n) },
		"fakecluster":               func(n *yaml.Node) { c.Fakecluster = p.flag(n) },
		"legacyAPIs":                func(n *yaml.Node) { c.LegacyAPIs = p.flag(n) },
		"controllers":               func(n *yaml.Node) { c.Controllers = p.controllers(n) },
		"runtimeConfig":             func(n *yaml.Node) { c.RuntimeConfig = p.names(n, "runtimeConfig") },
		"withAdmissionPlugins":      func(n *yaml.Node) { c.WithAdmissionPlugins = p.plugins(n, "withAdmissionPlugins") },
		"withoutAdmissionPlugins":   func(n *yaml.Node) { c.WithoutAdmissionPlugins = p.plugins(n, "withoutAdmissionPlugins") },
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

// controllers reads the names of controllers of kube-controller-manager.
func (p *parser) controllers(n *yaml.Node) []string {
	var known []string
	for _, c := range fakecluster.AllControllers() {
		known = append(known, string(c))
	}
	return p.namesOf(n, "controllers", "controller", known)
}

// plugins reads the names of admission plugins of kube-apiserver.
func (p *parser) plugins(n *yaml.Node, what string) []string {
	return p.namesOf(n, what, "admission plugin", plugins.Names())
}

// namesOf reads a list of names that have to be known.
func (p *parser) namesOf(n *yaml.Node, what, of string, known []string) []string {
	names := p.names(n, what)
	for i, name := range names {
		if name != "" && !slices.Contains(known, name) {
			p.mistake(meant(n).Content[i], "fakecluster has no %s %q; it has %s%s", of, name, strings.Join(known, ", "), suggestion(name, known))
		}
	}
	return names
}

// setup reads the items of a setup: manifests, which are created, shared setups, and steps. It
// counts those that are the same for all cases of the table.
func (p *parser) setup(n *yaml.Node, t *table) []step {
	var all []step
	before := p.caseUses
	items := p.items(n, "setup")
	same := p.caseUses == before
	p.foresee(items)
	for _, item := range items {
		before := p.caseUses
		switch {
		case field(item, "use") != nil && field(item, "kind") == nil:
			all = append(all, p.use(item)...)
		case isStep(item):
			all = append(all, p.step(item))
		default:
			for _, m := range p.manifestsOf(item) {
				all = append(all, step{pos: m.pos, verb: verbs[0], scope: p.scope, request: request{argument: m.object}})
			}
		}
		// A fork has none of the faults of its origin.
		injects := len(all) > 0 && all[len(all)-1].verb != nil && all[len(all)-1].verb.name == "fault"
		if same = same && p.caseUses == before && !injects; same && t != nil {
			t.shared = len(all)
		}
	}
	return all
}

// isStep tells a step from a manifest, which has a kind, or the file of one.
func isStep(n *yaml.Node) bool {
	return field(n, "kind") == nil && field(n, "file") == nil && slices.ContainsFunc(verbNames(), func(name string) bool { return field(n, name) != nil })
}

// foresee notes the names of the answers of later steps.
func (p *parser) foresee(steps []*yaml.Node) {
	if p.later == nil {
		p.later = map[string]int{}
	}
	for _, item := range steps {
		if as := field(item, "as"); as != nil && as.Kind == yaml.ScalarNode {
			p.later[as.Value] = as.Line
		}
	}
}

func (p *parser) steps(n *yaml.Node) []step {
	var all []step
	items := p.items(n, "steps")
	p.foresee(items)
	for _, item := range items {
		all = append(all, p.step(item))
	}
	return all
}

func (p *parser) step(n *yaml.Node) step {
	s := step{pos: p.at(n), node: n, scope: p.scope}
	known := p.expectations(&s.expectation)
	known["name"] = func(n *yaml.Node) { s.name = p.text(n) }
	given := map[*beside]*yaml.Node{}
	for _, b := range besides {
		known[b.name] = func(n *yaml.Node) {
			if p.leavesOut(n) {
				return
			}
			given[b] = n
			b.parse(p, n, &s.request)
		}
	}
	user := known[asUser.name]
	known["as"] = func(n *yaml.Node) { // the name of the answer, or else who asks
		if meant(n).Tag == tagFrom || meant(n).Kind == yaml.MappingNode {
			user(n)
		} else {
			s.as = p.text(n)
		}
	}
	for _, v := range verbs {
		known[v.name] = func(n *yaml.Node) {
			if s.verb != nil {
				p.mistake(n, "a step does one thing, and this one has %s and %s", s.verb.name, v.name)
				return
			}
			s.verb, s.argument = v, v.argument.parse(p, n)
		}
	}
	before := len(p.mistakes)
	p.fields(n, "a step", known)
	if s.verb == nil && len(p.mistakes) == before {
		p.mistake(n, "a step needs something to do: one of %s", strings.Join(verbNames(), ", "))
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
	case name == theCase || name == theWith || name == theRequest:
		p.mistake(n, "%q is the name of something else in expressions", name)
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
	if s.eventually > 0 && s.consistently > 0 {
		p.mistake(n, "a step has eventually or consistently, not both")
	}
	if lasting := s.eventually + s.consistently; lasting > 0 {
		if s.verb.name != "absent" && s.verb.name != "get" && !s.judges() {
			p.mistake(n, "what has to become or stay true? Beside %s, a step that lasts needs an expectation", s.verb.name)
		}
		if s.argument["path"] != nil {
			p.mistake(n, "a path cannot be watched: say apiVersion and kind")
		}
	}
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
	if n := field(n, "expect"); n != nil && s.answersObject() {
		switch s.want.(type) {
		case []any, unordered, string, bool, int64, float64:
			p.mistake(n, "the answer to %s is an object, and expect a mapping with some of its fields", s.verb.name)
		}
	}
	if s.everyAnswerHas() && !s.refused && s.eventually == 0 && s.consistently == 0 {
		p.mistake(field(n, "expect"), "%s", everyAnswer)
	}
	switch s.verb.name {
	case "webhook":
		if s.judges() || s.as != "" {
			p.mistake(n, "no request is made to change a webhook: there is no answer to name or to judge")
		}
	case "absent", "log", "advance", "settle", "fault", "compact":
		if s.judges() || s.as != "" {
			p.mistake(n, "%s has no answer to name or to judge", s.verb.name)
		}
	case "count", "events":
		if !s.judged && s.that == nil && !s.refused && s.as == "" {
			p.mistake(n, "%s can never fail like this: it needs expect or that", s.verb.name)
		}
		p.ofItsType(field(n, "expect"), s)
		for _, c := range s.that {
			if s.verb.name == "count" && c.isCountOfAny() {
				p.mistakeAt(c.pos, "%s can never fail: a number of objects is never less than 0", c.text)
			}
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

// answersObject tells whether the answer to the step, if it succeeds, is an object, or a list that is one, too.
func (s *step) answersObject() bool {
	switch s.verb.name {
	case "create", "get", "list", "update", "patch", "apply", "scale", "status":
		return s.argument["path"] == nil && s.to["path"] == nil && (s.subresource == "" || s.subresource == "status") && s.options == nil && s.headers == nil
	}
	return false
}

// ofItsType finds an expectation that can never come true, because the answer to the step has another type.
func (p *parser) ofItsType(n *yaml.Node, s *step) {
	switch s.want.(type) {
	case string, bool, map[string]any:
		if s.verb.name == "count" {
			p.mistake(n, "the answer to count is a number")
		} else {
			p.mistake(n, "the answer to %s is a list", s.verb.name)
		}
	case []any:
		if s.verb.name == "count" {
			p.mistake(n, "the answer to count is a number")
		}
	case int64, float64:
		if s.verb.name != "count" {
			p.mistake(n, "the answer to %s is a list", s.verb.name)
		}
	}
}
