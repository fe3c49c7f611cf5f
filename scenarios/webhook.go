package scenarios

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// stubWebhook is a webhook that a scenario has the cluster reach, as its author wrote
// it.
type stubWebhook struct {
	name string
	at   Service
	// path is the only one that it answers at; empty: it answers at all.
	path string
	// reply is what it answers, until a step says otherwise.
	reply stubReply
}

// stubReply is what a webhook answers to a review, whichever kind of review that is.
// Marks may stand in it.
type stubReply struct {
	// response is that of the review, which is completed; body stands in place of the
	// whole review.
	response, body any
	// code is the HTTP status, or 0 for the usual one.
	code    int
	headers map[string]any
	// silent is how it does not answer, if it does not.
	silent string
}

// The ways not to answer.
const (
	silentClose = "close"
	silentHang  = "hang"
)

var waysToBeSilent = map[string]string{silentClose: "", silentHang: ""}

// defaultPort is where a reference that names no port reaches a service.
const defaultPort = 443

// webhooks reads the webhooks of a scenario. For its setup and its steps each is an
// answer of its name.
func (p *parser) webhooks(n *yaml.Node) []stubWebhook {
	var all []stubWebhook
	for _, item := range p.items(n, "webhooks") {
		w := stubWebhook{at: Service{Port: defaultPort}}
		known := p.replyFields(&w.reply)
		known["name"] = func(n *yaml.Node) { w.name = p.text(n) }
		known["service"] = func(n *yaml.Node) { p.service(n, &w) }
		before := len(p.mistakes)
		p.fields(item, "a webhook", known)
		if len(p.mistakes) > before {
			continue
		}
		if w.name == "" || w.at.Namespace == "" || w.at.Name == "" {
			p.mistake(item, "a webhook needs name and service: {namespace, name}")
		}
		for _, other := range all {
			if other.at == w.at && other.path == w.path {
				p.mistake(item, "the webhook %s is behind the same port and path", other.name)
			}
		}
		if w.path != "" && !strings.HasPrefix(w.path, "/") {
			p.mistake(item, "a path begins with a slash: %q", w.path)
		}
		p.checkReply(item, w.reply)
		p.nameAnswer(item, w.name)
		all = append(all, w)
	}
	return all
}

func (p *parser) service(n *yaml.Node, w *stubWebhook) {
	p.fields(n, "a service", map[string]func(*yaml.Node){
		"namespace": func(n *yaml.Node) { w.at.Namespace = p.text(n) },
		"name":      func(n *yaml.Node) { w.at.Name = p.text(n) },
		"port":      func(n *yaml.Node) { w.at.Port = p.number(n, "port", "a number from 1 to 65535", 1, 65535) },
		"path":      func(n *yaml.Node) { w.path = p.text(n) },
	})
}

// replyFields are the fields that say what a webhook answers.
func (p *parser) replyFields(r *stubReply) map[string]func(*yaml.Node) {
	return map[string]func(*yaml.Node){
		"response": func(n *yaml.Node) {
			before := len(p.mistakes)
			switch r.response = p.tree(n, replyMarks); r.response.(type) {
			case map[string]any, computed:
			default:
				if len(p.mistakes) == before {
					p.mistake(n, "response takes a mapping, or %s and an expression that makes one", tagCEL)
				}
			}
		},
		"body":    func(n *yaml.Node) { r.body = p.tree(n, replyMarks) },
		"code":    func(n *yaml.Node) { r.code = p.number(n, "code", "an HTTP status", 200, 599) },
		"headers": func(n *yaml.Node) { r.headers = p.texts(n, "the headers") },
		"silent":  func(n *yaml.Node) { r.silent = p.oneOf(n, waysToBeSilent) },
	}
}

// checkReply finds what cannot stand together in a reply, and what has to.
func (p *parser) checkReply(n *yaml.Node, r stubReply) {
	ways := 0
	for _, given := range []bool{r.response != nil, r.body != nil, r.silent != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		p.mistake(n, "a webhook has one of response, body, and silent")
	case r.silent != "" && (r.code != 0 || r.headers != nil):
		p.mistake(n, "a webhook that is silent sends no code and no headers")
	}
}
