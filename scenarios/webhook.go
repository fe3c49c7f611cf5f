package scenarios

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// stubWebhook is a webhook of a scenario, as its author wrote it. The cluster can reach it.
type stubWebhook struct {
	name string
	at   Service
	// path is the only path at which it answers; empty: any path.
	path string
	// reply is its answer, until a step changes it.
	reply stubReply
}

// stubReply is the answer of a webhook to a review of any kind. It may contain marks.
type stubReply struct {
	// response is the response of the review; the runner completes the review. Body is sent
	// in place of the whole review.
	response, body any
	// code is the HTTP status, or 0 for the usual one.
	code    int
	headers map[string]any
	// silent says how it fails to answer; empty: it answers.
	silent string
}

// The ways to fail to answer.
const (
	silentClose = "close"
	silentHang  = "hang"
)

var waysToBeSilent = map[string]string{silentClose: "", silentHang: ""}

// defaultPort is the port of a reference to a service that names no port.
const defaultPort = 443

// webhooks reads the webhooks of a scenario. Its setup and its steps can refer to each by
// its name, as to an answer.
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

// replyFields returns the readers of the fields that say what a webhook answers.
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

// checkReply reports fields of a reply that exclude each other, and fields that are
// missing.
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
