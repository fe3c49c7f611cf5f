package syntax

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fakecluster/fakecluster/faults"
)

// plainEffects are the effects of a fault that are written as a word. Others have a value, such as {staleRead: 3}.
var plainEffects = map[string]faults.Effect{
	"conflict": faults.Conflict(), "unavailable": faults.Unavailable(), "timeout": faults.Timeout(),
	"cutBeforeCommit": faults.CutBeforeCommit(), "cutAfterCommit": faults.CutAfterCommit(),
	"expireWatch": faults.ExpireWatch(), "failConversion": faults.FailConversion(),
}

var faultFields = argument{"{verb, resource, subresource, namespace, name, user, userAgent, after, times, probability, optional, latency, effect}", func(p *parser, n *yaml.Node) map[string]any {
	var f faults.Fault
	const many = 1 << 30
	text := func(into *string) func(*yaml.Node) { return func(n *yaml.Node) { *into = p.text(n) } }
	number := func(what string, into *int) func(*yaml.Node) {
		return func(n *yaml.Node) { *into = p.number(n, what, "a number, 0 or more", 0, many) }
	}
	before := len(p.mistakes)
	p.fields(n, "a fault", map[string]func(*yaml.Node){
		"verb":     func(n *yaml.Node) { f.Verb = p.verb(n) },
		"resource": text(&f.Resource), "subresource": text(&f.Subresource), "namespace": text(&f.Namespace),
		"name": text(&f.Name), "user": text(&f.User), "userAgent": text(&f.UserAgent),
		"after": number("after", &f.After), "times": number("times", &f.Times),
		"probability": func(n *yaml.Node) { f.Probability = p.probability(n) },
		"optional":    func(n *yaml.Node) { f.Optional = p.flag(n) },
		"latency":     func(n *yaml.Node) { f.Latency = p.duration(n) },
		"effect":      func(n *yaml.Node) { f.Effect = p.effect(n) },
	})
	if len(p.mistakes) == before && field(p.resolveNode(n), "effect") == nil && f.Latency == 0 {
		p.mistake(n, "a fault needs effect or latency")
	}
	return map[string]any{"fault": f}
}}

// verbsOfFaults are the verbs of requests.
var verbsOfFaults = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// verb reads the verb of a request.
func (p *parser) verb(n *yaml.Node) string {
	verb := p.text(n)
	if verb != "" && !slices.Contains(verbsOfFaults, verb) {
		p.mistake(n, "verb: %q is not one of %s%s", verb, strings.Join(verbsOfFaults, ", "), Suggestion(verb, verbsOfFaults))
	}
	return verb
}

// probability reads a number above 0, up to 1.
func (p *parser) probability(n *yaml.Node) float64 {
	before := len(p.mistakes)
	var number float64
	n = p.resolveNode(n)
	switch v := p.tree(n, noMarks).(type) {
	case int64:
		number = float64(v)
	case float64:
		number = v
	}
	// The first comparison is false for NaN.
	if !(number > 0 && number <= 1) && len(p.mistakes) == before {
		p.mistake(n, "probability takes a number above 0, up to 1")
	}
	return number
}

// effect reads the effect of a fault.
func (p *parser) effect(n *yaml.Node) (e faults.Effect) {
	names := make(map[string]string, len(plainEffects))
	for name := range plainEffects {
		names[name] = ""
	}
	if n = p.resolveNode(n); n.Kind != yaml.MappingNode {
		name := p.text(n)
		e, ok := plainEffects[name]
		if !ok && name != "" {
			p.mistake(n, "effect: %q is not one of %s (other effects need a value)%s", name, strings.Join(sortedKeys(names), ", "), Suggestion(name, sortedKeys(names)))
		}
		return e
	}
	number := func(what string, make func(int) faults.Effect) func(*yaml.Node) {
		return func(n *yaml.Node) { e = make(p.number(n, what, "a number, 0 or more", 0, 1<<30)) }
	}
	p.fields(n, "an effect", map[string]func(*yaml.Node){
		"tooManyRequests": func(n *yaml.Node) { e = faults.TooManyRequests(p.duration(n)) },
		"internalError":   func(n *yaml.Node) { e = faults.InternalError(p.text(n)) },
		"refuseAdmission": func(n *yaml.Node) { e = faults.RefuseAdmission(p.text(n)) },
		"failWebhook":     func(n *yaml.Node) { e = faults.FailWebhook(p.text(n)) },
		"delayWatch":      func(n *yaml.Node) { e = faults.DelayWatch(p.duration(n)) },
		"staleRead":       number("staleRead", faults.StaleRead),
		"dropWatch":       number("dropWatch", faults.DropWatch),
	})
	if len(n.Content) != 2 {
		p.mistake(n, "a fault must have exactly one effect")
	}
	return e
}

var nothing = argument{"{}", func(p *parser, n *yaml.Node) map[string]any {
	p.fields(n, "compact", map[string]func(*yaml.Node){})
	return map[string]any{}
}}
