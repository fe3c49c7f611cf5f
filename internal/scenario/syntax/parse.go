package syntax

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
	"github.com/fakecluster/fakecluster/internal/description"
	"github.com/fakecluster/fakecluster/internal/description/living"
)

// parser turns the text of one file into scenarios. It continues after a mistake, so
// that an author sees all mistakes at once.
type parser struct {
	file     string
	reader   Reader
	mistakes []error

	// manifests are the files that the scenarios take manifests and shared setups from.
	manifests []string
	// field is the field being read.
	field fieldNode

	// answers are the names of the answers so far, in the scenario being read. laterNames has the lines of the steps
	// that name later answers.
	answers    []string
	laterNames map[string]int
	// parameters are the values of "case", for each case, and of "with".
	parameters map[string][]*parameters
	// caseUses counts the references to a case.
	caseUses int
	// row is the index of the case being read. dependsOnCase: a value that was read depends on it.
	row           int
	dependsOnCase bool
	// declaredWebhooks are the webhooks of the scenario.
	declaredWebhooks []Webhook
	// scope is the scope of the shared setup being read; enclosing are the files of the setups that use it.
	scope     *Scope
	enclosing []string

	environments map[string]*cel.Env // by the names of their variables
	nodes        int
	aliases      []*yaml.Node // that are being expanded
}

// NewParser returns a parser of the file at path, which messages name.
func NewParser(path string) *parser {
	return &parser{file: path, parameters: map[string][]*parameters{}, environments: map[string]*cel.Env{}}
}

func (p *parser) position(n *yaml.Node) Position { return Position{p.file, n.Line, n.Column} }

func (p *parser) mistake(n *yaml.Node, format string, args ...any) {
	p.mistakeAt(p.position(n), format, args...)
}

func (p *parser) mistakeAt(position Position, format string, args ...any) {
	p.mistakes = append(p.mistakes, fmt.Errorf("%s: %w", position.exactly(), fmt.Errorf(format, args...)))
}

// yamlMessage matches an error of the YAML library, with its line.
var yamlMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// tagTooClose is the error of the YAML library for {status: !absent}, a common mistake.
const tagTooClose = "did not find expected whitespace or line break"

// Documents returns the root nodes of the documents in data that are not empty.
func (p *parser) Documents(data []byte) []*yaml.Node {
	var roots []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return roots
		}
		if err != nil {
			position, text := Position{File: p.file, Line: 1}, err.Error()
			if m := yamlMessage.FindStringSubmatch(text); m != nil {
				text = m[2]
				if line, err := strconv.Atoi(m[1]); err == nil {
					position.Line = line
				}
			}
			position, text = clarifyYAMLError(position, text, string(data))
			p.mistakes = append(p.mistakes, fmt.Errorf("%s: not YAML: %s", position.exactly(), text))
			return roots
		}
		if root := document.Content[0]; root.ShortTag() != "!!null" {
			roots = append(roots, root)
		}
	}
}

// unknownAnchor matches the error of the YAML library for an alias without its anchor. The error does not have a position.
var unknownAnchor = regexp.MustCompile(`^unknown anchor '([^']+)' referenced$`)

// clarifyYAMLError returns a clearer message and a more exact position for common errors of the YAML library.
func clarifyYAMLError(position Position, message, text string) (Position, string) {
	lines := strings.Split(text, "\n")
	if message == tagTooClose {
		return position, message + " after a tag (inside of braces that is: {status: !absent })"
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		alias := regexp.MustCompile(`(?:^|[\s\[{,:])(\*` + regexp.QuoteMeta(m[1]) + `)(?:$|[\s\]},:])`)
		for i, line := range lines {
			if found := alias.FindStringSubmatchIndex(line); found != nil {
				position.Line, position.Column = i+1, utf8.RuneCountInString(line[:found[2]])+1
				return position, fmt.Sprintf("unknown alias *%s: no value before it has the anchor &%s", m[1], m[1])
			}
		}
	}
	if line := position.Line - 1; line < len(lines) {
		before, _, tab := strings.Cut(lines[line], "\t")
		if tab && strings.Trim(before, " -") == "" {
			position.Column = len(before) + 1
			return position, "a tab cannot indent: use spaces"
		}
	}
	return position, message
}

// Parse reads the text of a file. Err of the result returns the mistakes.
func (r Reader) Parse(path string, data []byte) *File {
	p := NewParser(path)
	p.reader = r
	f := &File{path: path}
	if roots := p.Documents(data); slices.ContainsFunc(roots, isScenario) {
		lines := map[string]int{}
		for _, root := range roots {
			scenarios := p.scenario(root)
			name := scenarios[0].Name
			if line, twice := lines[name]; twice && name != "" {
				p.mistake(root, "duplicate scenario name %q, first on line %d", name, line)
			}
			lines[name] = root.Line
			f.Scenarios = append(f.Scenarios, scenarios...)
		}
	}
	f.mistakes, f.manifests = p.mistakes, p.manifests
	return f
}

// Parse is Parse of a Reader without Kustomize.
func Parse(path string, data []byte) *File { return Reader{}.Parse(path, data) }

// isScenario reports whether a document is meant to be a scenario. It may have mistakes.
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
	s := &Scenario{Position: p.position(root)}
	p.answers, p.parameters, p.caseUses, p.row, p.dependsOnCase = nil, map[string][]*parameters{}, 0, 0, false
	before := len(p.mistakes)
	var cases []*Scenario
	if n := field(root, "cases"); n != nil {
		s.Cases = &Cases{}
		cases = p.cases(n)
	}
	// The webhooks come first, because the other fields may refer to them.
	if n := field(root, "webhooks"); n != nil {
		p.row = noRow
		s.Webhooks = p.webhooks(n)
		p.row = 0
	}
	p.declaredWebhooks = s.Webhooks
	p.readCase(root, s)
	each := []*Scenario{s}
	for p.dependsOnCase && len(each) < len(cases) {
		p.row = len(each)
		c := &Scenario{Position: s.Position, Webhooks: s.Webhooks, Cases: s.Cases}
		p.readCase(root, c)
		each = append(each, c)
	}
	p.dedupeMistakes(before)
	if s.Name == "" && len(p.mistakes) == before {
		p.mistake(root, "a scenario needs a name: scenario: A sentence that states the rule")
	}
	if len(s.Steps) == 0 && len(p.mistakes) == before {
		p.mistake(root, "a scenario needs steps")
	}
	if len(p.mistakes) == before && s.Cases != nil {
		p.reportUnused(field(root, "cases"))
	}
	if len(cases) == 0 {
		return []*Scenario{s}
	}
	s.Cases.Count = len(cases)
	for i, c := range cases {
		position, name, params, row := c.Position, c.Case, c.Params, c.Row
		*c = *each[min(i, len(each)-1)]
		c.Position, c.Case, c.Params, c.Row = position, name, params, row
	}
	return cases
}

// readCase reads a document for one of its cases, or for all of them.
func (p *parser) readCase(root *yaml.Node, s *Scenario) {
	answers := slices.Clone(p.answers) // of webhooks
	defer func() { p.answers = answers }()
	p.laterNames = map[string]int{}
	// same reads a field that is the same for all cases.
	same := func(read func(*yaml.Node)) func(*yaml.Node) {
		return func(n *yaml.Node) {
			row := p.row
			defer func() { p.row = row }()
			p.row = noRow
			read(n)
		}
	}
	p.fields(root, "a scenario", map[string]func(*yaml.Node){
		"webhooks":  func(*yaml.Node) {},
		"cases":     func(*yaml.Node) {},
		"scenario":  same(func(n *yaml.Node) { s.Name = p.text(n) }),
		"cluster":   same(func(n *yaml.Node) { s.Cluster = p.cluster(n) }),
		"workloads": same(func(n *yaml.Node) { s.Workloads = p.workloads(n) }),
		"setup":     func(n *yaml.Node) { s.Setup = p.setup(n, s.Cases) },
		"steps":     func(n *yaml.Node) { s.Steps = p.steps(n) },
	})
}

// dedupeMistakes removes mistakes, from an index on, that were found in several cases.
func (p *parser) dedupeMistakes(from int) {
	p.mistakes = append(p.mistakes[:from:from], withoutRepetition(p.mistakes[from:])...)
}

func (p *parser) cluster(n *yaml.Node) ClusterOptions {
	var c ClusterOptions
	readers := map[string]func(*yaml.Node){
		"alone":       func(n *yaml.Node) { c.Alone = p.flag(n) },
		"fakecluster": func(n *yaml.Node) { c.Fakecluster = p.flag(n) },
	}
	for _, o := range description.Options() {
		if o.Scenario != "" {
			readers[o.Scenario] = func(n *yaml.Node) { p.option(n, o, &c.Cluster) }
		}
	}
	p.fields(n, "a cluster", readers)
	return c
}

// option reads an option of a cluster.
func (p *parser) option(n *yaml.Node, o description.Option, c *description.Cluster) {
	switch value := o.Value(c).(type) {
	case *bool:
		*value = p.flag(n)
	case *[]string:
		switch value {
		case &c.Controllers:
			*value = p.controllers(n)
		case &c.WithAdmissionPlugins, &c.WithoutAdmissionPlugins:
			*value = p.plugins(n, o.Scenario)
		default:
			*value = p.names(n, o.Scenario)
		}
	default:
		panic("a scenario cannot have an option of the type of " + o.Scenario)
	}
}

// workloads reads the configuration of a living cluster.
func (p *parser) workloads(n *yaml.Node) *living.Config {
	c, mistakes := living.Read(n)
	if err := c.Resolve(p.file); err != nil {
		p.mistake(n, "%v", err)
	}
	for _, m := range mistakes {
		p.mistakeAt(Position{p.file, m.Line, m.Column}, "%s", m.Text)
	}
	return c
}

// names reads a list of strings. An empty list is not nil.
func (p *parser) names(n *yaml.Node, what string) []string {
	names := []string{}
	for _, item := range p.items(n, what) {
		names = append(names, p.text(item))
	}
	return names
}

// controllers reads the names of controllers that act within a write.
func (p *parser) controllers(n *yaml.Node) []string {
	var allowed []string
	for _, c := range fakecluster.AllControllers() {
		allowed = append(allowed, string(c))
	}
	return p.namesOf(n, "controllers", "controller", allowed, func(name string) string {
		return fmt.Sprintf("; another one of kube-controller-manager runs with workloads: {controllers: [%s]}", name)
	})
}

// plugins reads the names of admission plugins of kube-apiserver.
func (p *parser) plugins(n *yaml.Node, what string) []string {
	return p.namesOf(n, what, "admission plugin", plugins.Names(), nil)
}

// namesOf reads a list of names, all of which must be allowed. otherwise returns a hint for a name that resembles none
// of them; nil: no hint.
func (p *parser) namesOf(n *yaml.Node, what, element string, allowed []string, otherwise func(name string) string) []string {
	names := p.names(n, what)
	for i, name := range names {
		if name == "" || slices.Contains(allowed, name) {
			continue
		}
		suggestion := Suggestion(name, allowed)
		if suggestion == "" && otherwise != nil {
			suggestion = otherwise(name)
		}
		p.mistake(ResolveAlias(n).Content[i], "unknown %s %q (allowed: %s)%s", element, name, strings.Join(allowed, ", "), suggestion)
	}
	return names
}

// setup reads the items of a setup: manifests, which become create steps, shared setups, and steps. It counts the steps
// that are the same for all cases of the table.
func (p *parser) setup(n *yaml.Node, t *Cases) []Step {
	var steps []Step
	before := p.caseUses
	items := p.items(n, "setup")
	same := p.caseUses == before
	p.noteLaterNames(items)
	for _, item := range items {
		before := p.caseUses
		switch {
		case field(item, "use") != nil && field(item, "kind") == nil:
			steps = append(steps, p.use(item)...)
		case field(item, "kustomize") != nil && field(item, "kind") == nil:
			steps = append(steps, p.creates(p.kustomization(item))...)
		case isStep(item):
			steps = append(steps, p.step(item))
		default:
			steps = append(steps, p.creates(p.manifestsOf(item))...)
		}
		// A fork does not have the faults of its origin.
		injects := len(steps) > 0 && steps[len(steps)-1].Verb != nil && steps[len(steps)-1].Verb.Name == "fault"
		if same = same && p.caseUses == before && !injects; same && t != nil {
			t.SharedSetup = len(steps)
		}
	}
	return steps
}

// creates returns the steps that create objects.
func (p *parser) creates(manifests []manifest) (steps []Step) {
	for _, m := range manifests {
		steps = append(steps, Step{Pos: m.pos, Verb: verbNamed("create"), Scope: p.scope, Request: Request{Argument: m.object}})
	}
	return steps
}

// isStep reports whether an item of a setup is a step. A manifest has a kind, or names a file.
func isStep(n *yaml.Node) bool {
	return field(n, "kind") == nil && field(n, "file") == nil && slices.ContainsFunc(verbNames(), func(name string) bool { return field(n, name) != nil })
}

// noteLaterNames stores the names of the answers of later steps.
func (p *parser) noteLaterNames(steps []*yaml.Node) {
	if p.laterNames == nil {
		p.laterNames = map[string]int{}
	}
	for _, item := range steps {
		if as := field(item, "as"); as != nil && as.Kind == yaml.ScalarNode {
			p.laterNames[as.Value] = as.Line
		}
	}
}

func (p *parser) steps(n *yaml.Node) []Step {
	var steps []Step
	items := p.items(n, "steps")
	p.noteLaterNames(items)
	for _, item := range items {
		steps = append(steps, p.step(item))
	}
	return steps
}

func (p *parser) step(n *yaml.Node) Step {
	s := Step{Pos: p.position(n), Node: n, Scope: p.scope}
	readers := p.expectations(&s.Expectation)
	readers["name"] = func(n *yaml.Node) { s.Name = p.text(n) }
	given := map[*RequestField]*yaml.Node{}
	for _, b := range RequestFields {
		readers[b.Name] = func(n *yaml.Node) {
			if p.isLeftOut(n) {
				return
			}
			given[b] = n
			b.parse(p, n, &s.Request)
		}
	}
	user := readers[asUser.Name]
	readers["as"] = func(n *yaml.Node) { // the name of the answer, or the user
		if ResolveAlias(n).Tag == TagFrom || ResolveAlias(n).Kind == yaml.MappingNode {
			user(n)
		} else {
			s.As = p.text(n)
		}
	}
	for _, v := range verbs {
		readers[v.Name] = func(n *yaml.Node) {
			if s.Verb != nil {
				p.mistake(n, "a step can do only one thing, but this one has %s and %s", s.Verb.Name, v.Name)
				return
			}
			s.Verb, s.Argument = v, v.argument.parse(p, n)
		}
	}
	before := len(p.mistakes)
	p.fields(n, "a step", readers)
	if s.Verb == nil && len(p.mistakes) == before {
		p.mistake(n, "a step must have one of %s", strings.Join(verbNames(), ", "))
	}
	if len(p.mistakes) == before {
		p.checkCombinations(n, &s, given)
	}
	// Added after the step was read, because a step cannot refer to its own answer.
	if s.As != "" {
		p.nameAnswer(n, s.As)
	}
	return s
}

// nameAnswer adds the name under which later steps refer to an answer.
func (p *parser) nameAnswer(n *yaml.Node, name string) {
	switch {
	case name == CaseName || name == WithName || name == RequestName:
		p.mistake(n, "%q is a reserved name in expressions", name)
	case strings.Contains(name, "."):
		p.mistake(n, "the name of an answer must not contain dots: %q", name)
	case name == AnswerName:
		p.mistake(n, "%q is reserved: in conditions it is the answer to the same step", name)
	case slices.Contains(p.answers, name):
		p.mistake(n, "an earlier answer already has the name %q", name)
	default:
		p.answers = append(p.answers, name)
	}
}

// checkCombinations reports fields of a step that exclude or require each other.
func (p *parser) checkCombinations(n *yaml.Node, s *Step, given map[*RequestField]*yaml.Node) {
	if s.Eventually > 0 && s.Consistently > 0 {
		p.mistake(n, "a step cannot have both eventually and consistently")
	}
	if lasting := s.Eventually + s.Consistently; lasting > 0 {
		if s.Verb.Name != "absent" && s.Verb.Name != "get" && !s.hasChecks() {
			p.mistake(n, "eventually and consistently need an expectation in a %s step", s.Verb.Name)
		}
		if s.Argument["path"] != nil {
			p.mistake(n, "eventually and consistently cannot watch a path: use apiVersion and kind")
		}
	}
	for _, b := range RequestFields {
		if field := given[b]; field != nil && !s.Verb.Allows(b.Name) {
			p.mistake(field, "%s is not allowed in a %s step (allowed in: %s)", b.Name, s.Verb.Name, strings.Join(verbsWith(b.Name), ", "))
		}
	}
	if s.Rows != nil {
		if s.Verb.Name != "get" && s.Verb.Name != "list" {
			p.mistake(n, "a %s step cannot have table or wide; only get and list can", s.Verb.Name)
		}
		s.AsTable = true
	}
	if n := field(n, "condition"); n != nil && s.StatusCondition != nil {
		if s.HasError && !IsMark(s.Error) {
			p.mistake(n, "a step cannot have both condition and error")
		}
		if s.Verb.answer != objectAnswer || s.Verb.Name == "list" {
			p.mistake(n, "the answer to %s is not one object, so it does not have a condition; write the expectation in the field \"that\"", s.Verb.Name)
		}
	}
	if n := field(n, "expect"); n != nil && s.answersObject() {
		switch s.Want.(type) {
		case []any, Unordered, string, bool, int64, float64:
			p.mistake(n, "the answer to %s is an object: expect must be a mapping with some of its fields", s.Verb.Name)
		}
	}
	if s.matchesEveryAnswer() && !s.HasError && s.Eventually == 0 && s.Consistently == 0 {
		p.mistake(field(n, "expect"), "%s", matchesEverything)
	}
	switch s.Verb.answer {
	case noAnswer:
		if s.hasChecks() || s.As != "" {
			p.mistake(n, "%s does not return an answer, so the step cannot have expectations or a name for it", s.Verb.Name)
		}
	case numberAnswer, listAnswer:
		if !s.HasWant && s.That == nil && !s.HasError && s.As == "" {
			p.mistake(n, "a %s step can never fail without the field \"expect\" or \"that\"", s.Verb.Name)
		}
		p.checkAnswerType(field(n, "expect"), s)
		for _, c := range s.That {
			if s.Verb.answer == numberAnswer && c.isCountOfAny() {
				p.mistakeAt(c.Pos, "%s can never fail: a number of objects is never less than 0", c.Text)
			}
		}
	}
	if s.Verb.check != nil {
		s.Verb.check(p, n, s)
	}
}

// answersObject reports whether the answer to the step, if it succeeds, is an object, or a list object.
func (s *Step) answersObject() bool {
	return s.Verb.answer == objectAnswer && s.Argument["path"] == nil && s.To["path"] == nil &&
		(s.Subresource == "" || s.Subresource == "status") && s.Options == nil && s.Headers == nil
}

// checkAnswerType finds an expectation that can never come true, because the answer to the step has another type.
func (p *parser) checkAnswerType(n *yaml.Node, s *Step) {
	var possible bool
	switch s.Want.(type) {
	case string, bool, map[string]any:
	case []any:
		possible = s.Verb.answer == listAnswer
	case int64, float64:
		possible = s.Verb.answer == numberAnswer
	default: // nothing, or a mark
		possible = true
	}
	if !possible {
		p.mistake(n, "the answer to %s is a %s", s.Verb.Name, map[answerType]string{listAnswer: "list", numberAnswer: "number"}[s.Verb.answer])
	}
}
