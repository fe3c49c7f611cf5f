package syntax

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

var oneDuration = argument{"DURATION", func(p *parser, n *yaml.Node) map[string]any {
	if n = p.resolveNode(n); slices.Contains(valueMarks, n.Tag) {
		return map[string]any{"duration": p.tree(n, valueMarks)}
	}
	return map[string]any{"duration": p.duration(n)}
}}

// The defaults of settle.
const (
	defaultQuiet  = time.Second
	defaultWithin = 10 * time.Minute
)

var settlePeriods = argument{"{quiet, within}", func(p *parser, n *yaml.Node) map[string]any {
	n = p.resolveNode(n)
	periods := map[string]any{"quiet": defaultQuiet, "within": defaultWithin}
	p.fields(n, "settle", map[string]func(*yaml.Node){
		"quiet":  func(n *yaml.Node) { periods["quiet"] = p.duration(n) },
		"within": func(n *yaml.Node) { periods["within"] = p.duration(n) },
	})
	quiet, within := periods["quiet"].(time.Duration), periods["within"].(time.Duration)
	if field(n, "within") != nil && quiet > within {
		p.mistake(n, "settle: quiet (%s) must not be longer than within (%s)", quiet, within)
	}
	return periods
}}

// The arguments of steps that replace several requests, or a long one, by one line.

var (
	objectReferenceByKind = referenceWith("{apiVersion, kind, namespace, name}", map[string]func(*parser, *yaml.Node) any{}, "apiVersion", "kind", "name")
	podReference          = referenceWith("{namespace, name}", map[string]func(*parser, *yaml.Node) any{}, "name")
	maybeReference        = referenceWith("{apiVersion, kind, namespace, name}", map[string]func(*parser, *yaml.Node) any{
		"name": func(p *parser, n *yaml.Node) any { return p.textOrMark(n) },
	}, "apiVersion", "kind")
	finalizeReference = referenceWith("{apiVersion, kind, namespace, name, finalizer}", map[string]func(*parser, *yaml.Node) any{
		"finalizer": func(p *parser, n *yaml.Node) any { return p.textOrMark(n) },
	}, "apiVersion", "kind", "name")
	scaleReference = referenceNeeding("replicas", "{apiVersion, kind, namespace, name, replicas}", map[string]func(*parser, *yaml.Node) any{
		"replicas": func(p *parser, n *yaml.Node) any {
			return p.numberOrMark(n, "replicas", "a number", -1<<31, 1<<31-1)
		},
	}, "apiVersion", "kind", "name")
)

// referenceNeeding returns a reference for which one more field is required.
func referenceNeeding(field, notation string, more map[string]func(*parser, *yaml.Node) any, needed ...string) argument {
	reference := referenceWith(notation, more, needed...)
	return argument{notation, func(p *parser, n *yaml.Node) map[string]any {
		before := len(p.mistakes)
		ref := reference.parse(p, n)
		if len(p.mistakes) == before && ref[field] == nil {
			p.mistake(n, "the step needs %s", field)
		}
		return ref
	}}
}

var statusManifest = argument{"MANIFEST", func(p *parser, n *yaml.Node) map[string]any {
	object := oneManifest.parse(p, n)
	for _, name := range SortedFields(object) {
		switch name {
		case "apiVersion", "kind", "metadata", "status":
		default:
			p.mistake(n, "%s is not allowed here: only the status is sent", name)
		}
	}
	if object != nil && object["status"] == nil {
		p.mistake(n, "the manifest needs status")
	}
	return object
}}

var anyValue = argument{"VALUE", func(p *parser, n *yaml.Node) map[string]any {
	return map[string]any{"value": p.tree(n, manifestMarks)}
}}

// argument is the notation and the parser of the value of a verb.
type argument struct {
	notation string
	parse    func(*parser, *yaml.Node) map[string]any
}

var oneManifest = argument{"MANIFEST", func(p *parser, n *yaml.Node) map[string]any {
	manifests := p.manifestsOf(n)
	if len(manifests) > 1 {
		p.mistake(n, "a step takes one manifest, but the file has %d", len(manifests))
	}
	if len(manifests) == 0 {
		return nil
	}
	return manifests[0].object
}}

var (
	objectReference = reference("{apiVersion, kind, namespace, name} or {path}", "apiVersion", "kind", "name")
	listReference   = reference("{apiVersion, kind, namespace} or {path}", "apiVersion", "kind")
)

// reference is an argument that identifies an object or a collection. The fields in needed are
// required, namespace is optional, and path excludes all others.
func reference(notation string, needed ...string) argument {
	return referenceWith(notation, nil, needed...)
}

// referenceWith is a reference that may have more fields. If more is not nil, path is not allowed.
func referenceWith(notation string, more map[string]func(*parser, *yaml.Node) any, needed ...string) argument {
	return argument{notation, func(p *parser, n *yaml.Node) map[string]any {
		ref := map[string]any{}
		readers := map[string]func(*yaml.Node){}
		for name, read := range more {
			readers[name] = func(n *yaml.Node) { ref[name] = read(p, n) }
		}
		usual := []string{"namespace", "path"}
		if more != nil {
			usual = usual[:1]
		}
		for _, name := range append(usual, needed...) {
			readers[name] = func(n *yaml.Node) { ref[name] = p.textOrMark(n) }
		}
		before := len(p.mistakes)
		p.fields(n, "a reference", readers)
		if len(p.mistakes) > before {
			return ref
		}
		if _, ok := ref["path"]; ok {
			if path, ok := ref["path"].(string); ok && !strings.HasPrefix(path, "/") {
				p.mistake(n, "a path must begin with a slash: %q", path)
			}
			if len(ref) > 1 {
				p.mistake(n, "path cannot be combined with other fields")
			}
			return ref
		}
		for _, name := range needed {
			if _, ok := ref[name]; !ok {
				p.mistake(n, "a reference needs %s", name)
			}
		}
		return ref
	}}
}

var webhookName = argument{"NAME", func(p *parser, n *yaml.Node) map[string]any {
	return map[string]any{"name": p.webhookName(n)}
}}

var webhookReply = argument{"{name, response, ...}", func(p *parser, n *yaml.Node) map[string]any {
	argument := map[string]any{}
	var to WebhookReply
	readers := p.replyFields(&to)
	readers["name"] = func(n *yaml.Node) { argument["name"] = p.webhookName(n) }
	before := len(p.mistakes)
	p.fields(n, "a webhook", readers)
	if len(p.mistakes) == before {
		if argument["name"] == nil {
			p.mistake(n, "a webhook step needs name")
		}
		p.checkReply(n, to)
	}
	argument["reply"] = to
	return argument
}}

// webhookName reads the name of a webhook of the scenario.
func (p *parser) webhookName(n *yaml.Node) string {
	name := p.text(n)
	if name != "" && !slices.ContainsFunc(p.declaredWebhooks, func(w Webhook) bool { return w.Name == name }) {
		p.mistake(n, "the scenario does not have a webhook named %q", name)
	}
	return name
}
