package scenarios

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// request is the request of a step, as its author wrote it: the argument of the verb, and
// the fields beside it. Until it is resolved, it may contain marks.
type request struct {
	argument map[string]any
	// to is where a manifest goes, if that is not where its own name says.
	to          map[string]any
	subresource string
	patchType   string
	// body is the tree or the text that is sent. It takes the place of a manifest.
	body    any
	options map[string]any
	headers map[string]any
	// by makes the request; nil: the administrator.
	by *user
	// asTable says that the request asks for a Table.
	asTable bool
	// events is the number of events that a watch waits for.
	events int
	// eventually is how long the expectation may take to become true, and consistently how long it
	// has to stay true.
	eventually, consistently time.Duration
}

// beside is a field beside the verb of a step, which says more about the request. The
// parser and the manual read the table of these fields, as they do that of the verbs.
type beside struct {
	name, notation string
	// verbs are the verbs that it may be combined with, separated by spaces.
	verbs string
	doc   string
	parse func(*parser, *yaml.Node, *request)
}

var besides = []*beside{
	{"subresource", "NAME", "get update patch apply",
		"the request goes to this subresource of the object.",
		func(p *parser, n *yaml.Node, r *request) { r.subresource = p.text(n) }},
	{"options", "{fieldManager, force, ...}", "create get list watch update patch apply delete deletecollection scale status absent count",
		"options of the request, as Kubernetes names them; they are its query.",
		func(p *parser, n *yaml.Node, r *request) { r.options = p.options(n) }},
	{"type", "json, merge or strategic", "patch",
		"which type of patch the body is.",
		func(p *parser, n *yaml.Node, r *request) { r.patchType = p.oneOf(n, patchTypes) }},
	{"body", "VALUE", "create update patch apply delete deletecollection evict",
		"what is sent: a patch, or the DeleteOptions of a delete. A string is sent as it is, also in place of a" +
			" manifest; anything else is sent as JSON.",
		func(p *parser, n *yaml.Node, r *request) { r.body = p.tree(n, manifestMarks) }},
	{"to", "{apiVersion, kind, namespace, name} or {path}", "create update apply",
		"where the manifest goes, if that is not where its own apiVersion, kind and name say.",
		func(p *parser, n *yaml.Node, r *request) { r.to = objectReference.parse(p, n) }},
	{"headers", "{NAME: VALUE}", "create get list update patch apply delete deletecollection",
		"headers of the request, in place of those that the runner sends.",
		func(p *parser, n *yaml.Node, r *request) { r.headers = p.texts(n, "the headers") }},
	asUser,
	{"eventually", "DURATION", "get list absent count events",
		"the expectation need not be true at once, but has to become true in that time, such as 30s.",
		func(p *parser, n *yaml.Node, r *request) { r.eventually = p.duration(n) }},
	{"consistently", "DURATION", "get list absent count events",
		"the expectation is true at once, and stays true for that time. Beside a get without an expectation both speak of the object being there.",
		func(p *parser, n *yaml.Node, r *request) { r.consistently = p.duration(n) }},
}

func (b *beside) standsWith(verb string) bool {
	return slices.Contains(strings.Fields(b.verbs), verb)
}

// knownOptions are the query parameters of the Kubernetes API. With them a typo is found
// before anything is played.
var knownOptions = []string{
	"allowWatchBookmarks", "continue", "dryRun", "fieldManager", "fieldSelector", "fieldValidation", "force",
	"gracePeriodSeconds", "includeObject", "labelSelector", "limit", "orphanDependents", "pretty",
	"propagationPolicy", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds",
}

func (p *parser) options(n *yaml.Node) map[string]any {
	known := map[string]func(*yaml.Node){}
	options := map[string]any{}
	for _, name := range knownOptions {
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
	if n = p.meant(n); n.Kind != yaml.MappingNode {
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

// resolve returns a copy of r in which each !from is replaced by its value.
func (r request) resolve(answers map[string]answer) (request, error) {
	for _, fields := range []*map[string]any{&r.argument, &r.to, &r.options, &r.headers} {
		if *fields == nil {
			continue
		}
		resolved, err := resolveFields(*fields, answers)
		if err != nil {
			return r, err
		}
		*fields = resolved
	}
	var err error
	if r.by, err = r.by.resolve(answers); err != nil {
		return r, err
	}
	r.body, err = resolve(r.body, answers)
	return r, err
}

// manifestTarget returns where the manifest of r goes.
func (r request) manifestTarget() target {
	if r.to != nil {
		return targetOfReference(r.to)
	}
	return targetOfManifest(r.argument)
}

// content returns the body of a request with a manifest: the manifest, or the text in place
// of it.
func (r request) content() any {
	if r.body != nil {
		return r.body
	}
	return r.argument
}

// query makes the options a query. Those marked !absent are not sent.
func query(options map[string]any) url.Values {
	values := url.Values{}
	for name, option := range options {
		switch option := option.(type) {
		case absent:
		case []any:
			for _, each := range option {
				values.Add(name, fmt.Sprint(each))
			}
		default:
			values.Set(name, fmt.Sprint(option))
		}
	}
	return values
}
