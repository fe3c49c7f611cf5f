package syntax

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Request is the request of a step as its author wrote it: the argument of the verb, and
// the request fields. Until it is resolved, it may contain marks.
type Request struct {
	Argument map[string]any
	// To is the object that a manifest is sent to, if not the one that it names.
	To          map[string]any
	Subresource string
	PatchType   string
	// Body is the tree or the text that is sent. It replaces the manifest.
	Body    any
	Options map[string]any
	Headers map[string]any
	// By makes the request; nil: the administrator.
	By *User
	// AsTable: the request accepts a Table.
	AsTable bool
	// Events is the number of events that a watch waits for.
	Events int
	// The expectation must become true within Eventually, or stay true for Consistently.
	Eventually, Consistently time.Duration
}

// RequestField is a field of a step that adds details to its request. The verbs name the fields that
// they allow. The parser reads the table of these fields; a test compares the manual with it.
type RequestField struct {
	Name, Notation string
	Doc            string
	parse          func(*parser, *yaml.Node, *Request)
}

// RequestFields are all request fields, in the order of the manual.
var RequestFields = []*RequestField{
	{"subresource", "NAME",
		"sends the request to this subresource of the object.",
		func(p *parser, n *yaml.Node, r *Request) { r.Subresource = p.text(n) }},
	{"options", "{fieldManager, force, ...}",
		"query parameters of the request, by their Kubernetes names.",
		func(p *parser, n *yaml.Node, r *Request) { r.Options = p.options(n) }},
	{"type", "json, merge or strategic",
		"the type of the patch.",
		func(p *parser, n *yaml.Node, r *Request) { r.PatchType = p.oneOf(n, PatchTypes) }},
	{"body", "VALUE",
		"the body of the request: a patch, or the DeleteOptions of a delete. A string is sent unchanged, also in place of a" +
			" manifest; any other value is sent as JSON.",
		func(p *parser, n *yaml.Node, r *Request) { r.Body = p.tree(n, manifestMarks) }},
	{"to", "{apiVersion, kind, namespace, name} or {path}",
		"where to send the manifest, if not to the object that its apiVersion, kind and name identify.",
		func(p *parser, n *yaml.Node, r *Request) { r.To = objectReference.parse(p, n) }},
	{"headers", "{NAME: VALUE}",
		"headers of the request; they replace those that the runner sends.",
		func(p *parser, n *yaml.Node, r *Request) { r.Headers = p.texts(n, "the headers") }},
	asUser,
	{"eventually", "DURATION",
		"the expectation must become true within this time, such as 30s.",
		func(p *parser, n *yaml.Node, r *Request) { r.Eventually = p.duration(n) }},
	{"consistently", "DURATION",
		"the expectation must be true at once and stay true for this time. In a get without an expectation, eventually and" +
			" consistently require that the object exists.",
		func(p *parser, n *yaml.Node, r *Request) { r.Consistently = p.duration(n) }},
}

// QueryOptions are the query parameters of the Kubernetes API. The parser rejects all
// others, so that it finds typos.
var QueryOptions = []string{
	"allowWatchBookmarks", "continue", "dryRun", "fieldManager", "fieldSelector", "fieldValidation", "force",
	"gracePeriodSeconds", "includeObject", "labelSelector", "limit", "orphanDependents", "pretty",
	"propagationPolicy", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds",
}

func (p *parser) options(n *yaml.Node) map[string]any {
	valid := map[string]func(*yaml.Node){}
	options := map[string]any{}
	for _, name := range QueryOptions {
		valid[name] = func(n *yaml.Node) {
			options[name] = p.tree(n, manifestMarks)
			switch options[name].(type) {
			case nil, map[string]any:
				p.mistake(n, "an option must be a string, a number or a boolean")
			}
		}
	}
	p.fields(n, "the options", valid)
	return options
}

// texts reads a mapping to strings.
func (p *parser) texts(n *yaml.Node, what string) map[string]any {
	texts := map[string]any{}
	if n = p.resolveNode(n); n.Kind != yaml.MappingNode {
		p.mistake(n, "%s must be a mapping of names to values, such as {Accept: application/json}", what)
		return nil
	}
	p.eachField(n, func(key, value *yaml.Node) { texts[key.Value] = p.textOrMark(value) })
	return texts
}

func (p *parser) oneOf(n *yaml.Node, valid map[string]string) string {
	text := p.text(n)
	if _, ok := valid[text]; !ok && text != "" {
		p.mistake(n, "%s: %q is not one of %s", p.subject(), text, strings.Join(sortedKeys(valid), ", "))
	}
	return text
}
