package syntax

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Request is the request of a step, as its author wrote it: the argument of the verb, and
// the fields beside it. Until it is resolved, it may contain marks.
type Request struct {
	Argument map[string]any
	// To is where a manifest goes, if that is not where its own name says.
	To          map[string]any
	Subresource string
	PatchType   string
	// Body is the tree or the text that is sent. It takes the place of a manifest.
	Body    any
	Options map[string]any
	Headers map[string]any
	// By makes the request; nil: the administrator.
	By *User
	// AsTable says that the request asks for a Table.
	AsTable bool
	// Events is the number of events that a watch waits for.
	Events int
	// Eventually is how long the expectation may take to become true, and consistently how long it
	// has to stay true.
	Eventually, Consistently time.Duration
}

// RequestField is a field beside the verb of a step, which says more about the request. The
// parser and the manual read the table of these fields, as they do that of the verbs.
type RequestField struct {
	Name, Notation string
	Doc            string
	parse          func(*parser, *yaml.Node, *Request)
}

var RequestFields = []*RequestField{
	{"subresource", "NAME",
		"the request goes to this subresource of the object.",
		func(p *parser, n *yaml.Node, r *Request) { r.Subresource = p.text(n) }},
	{"options", "{fieldManager, force, ...}",
		"options of the request, as Kubernetes names them; they are its query.",
		func(p *parser, n *yaml.Node, r *Request) { r.Options = p.options(n) }},
	{"type", "json, merge or strategic",
		"which type of patch the body is.",
		func(p *parser, n *yaml.Node, r *Request) { r.PatchType = p.oneOf(n, PatchTypes) }},
	{"body", "VALUE",
		"what is sent: a patch, or the DeleteOptions of a delete. A string is sent as it is, also in place of a" +
			" manifest; anything else is sent as JSON.",
		func(p *parser, n *yaml.Node, r *Request) { r.Body = p.tree(n, manifestMarks) }},
	{"to", "{apiVersion, kind, namespace, name} or {path}",
		"where the manifest goes, if that is not where its own apiVersion, kind and name say.",
		func(p *parser, n *yaml.Node, r *Request) { r.To = objectReference.parse(p, n) }},
	{"headers", "{NAME: VALUE}",
		"headers of the request, in place of those that the runner sends.",
		func(p *parser, n *yaml.Node, r *Request) { r.Headers = p.texts(n, "the headers") }},
	asUser,
	{"eventually", "DURATION",
		"the expectation need not be true at once, but has to become true in that time, such as 30s.",
		func(p *parser, n *yaml.Node, r *Request) { r.Eventually = p.duration(n) }},
	{"consistently", "DURATION",
		"the expectation is true at once, and stays true for that time. Beside a get without an expectation both speak of the object being there.",
		func(p *parser, n *yaml.Node, r *Request) { r.Consistently = p.duration(n) }},
}

// QueryOptions are the query parameters of the Kubernetes API. With them a typo is found
// before anything is played.
var QueryOptions = []string{
	"allowWatchBookmarks", "continue", "dryRun", "fieldManager", "fieldSelector", "fieldValidation", "force",
	"gracePeriodSeconds", "includeObject", "labelSelector", "limit", "orphanDependents", "pretty",
	"propagationPolicy", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds",
}

func (p *parser) options(n *yaml.Node) map[string]any {
	known := map[string]func(*yaml.Node){}
	options := map[string]any{}
	for _, name := range QueryOptions {
		known[name] = func(n *yaml.Node) {
			options[name] = p.tree(n, manifestMarks)
			switch options[name].(type) {
			case nil, map[string]any:
				p.mistake(n, "an option is a text, a number, true or false")
			}
		}
	}
	p.fields(n, "the options", known)
	return options
}

// texts reads a mapping to strings.
func (p *parser) texts(n *yaml.Node, what string) map[string]any {
	texts := map[string]any{}
	if n = p.resolveNode(n); n.Kind != yaml.MappingNode {
		p.mistake(n, "%s are a mapping", what)
		return nil
	}
	p.eachField(n, func(key, value *yaml.Node) { texts[key.Value] = p.textOrMark(value) })
	return texts
}

func (p *parser) oneOf(n *yaml.Node, known map[string]string) string {
	text := p.text(n)
	if _, ok := known[text]; !ok && text != "" {
		p.mistake(n, "%q is none of %s", text, strings.Join(sortedKeys(known), ", "))
	}
	return text
}
