package syntax

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Webhook is a webhook of a scenario, as its author wrote it.
type Webhook struct {
	Name string
	At   Service
	// Path is the only path at which it answers; empty: any path.
	Path string
	// Reply is its answer, until a step changes it.
	Reply WebhookReply
}

// WebhookReply is the answer of a webhook to a review of any kind. It may contain marks.
type WebhookReply struct {
	// Response is the response of the review; the runner completes the review. Body is sent
	// in place of the whole review.
	Response, Body any
	// Code is the HTTP status, or 0 for the usual one.
	Code    int
	Headers map[string]any
	// Silent is SilentClose or SilentHang for a webhook that does not answer; empty: it answers.
	Silent string
}

// The ways in which a webhook does not answer.
const (
	SilentClose = "close"
	SilentHang  = "hang"
)

var silentModes = map[string]string{SilentClose: "", SilentHang: ""}

// DefaultPort is the port of a reference to a service that names no port.
const DefaultPort = 443

// webhooks reads the webhooks of a scenario. Its setup and its steps can refer to each by
// its name, as to an answer.
func (p *parser) webhooks(n *yaml.Node) []Webhook {
	var webhooks []Webhook
	for _, item := range p.items(n, "webhooks") {
		w := Webhook{At: Service{Port: DefaultPort}}
		readers := p.replyFields(&w.Reply)
		readers["name"] = func(n *yaml.Node) { w.Name = p.text(n) }
		readers["service"] = func(n *yaml.Node) { p.service(n, &w) }
		before := len(p.mistakes)
		p.fields(item, "a webhook", readers)
		if len(p.mistakes) > before {
			continue
		}
		if w.Name == "" || w.At.Namespace == "" || w.At.Name == "" {
			p.mistake(item, "a webhook needs name and service: {namespace, name}")
		}
		for _, other := range webhooks {
			if other.At == w.At && other.Path == w.Path {
				p.mistake(item, "the webhook %s has the same service, port and path", other.Name)
			}
		}
		if w.Path != "" && !strings.HasPrefix(w.Path, "/") {
			p.mistake(item, "a path must begin with a slash: %q", w.Path)
		}
		p.checkReply(item, w.Reply)
		p.nameAnswer(item, w.Name)
		webhooks = append(webhooks, w)
	}
	return webhooks
}

func (p *parser) service(n *yaml.Node, w *Webhook) {
	p.fields(n, "a service", map[string]func(*yaml.Node){
		"namespace": func(n *yaml.Node) { w.At.Namespace = p.text(n) },
		"name":      func(n *yaml.Node) { w.At.Name = p.text(n) },
		"port":      func(n *yaml.Node) { w.At.Port = p.number(n, "port", "a number from 1 to 65535", 1, 65535) },
		"path":      func(n *yaml.Node) { w.Path = p.text(n) },
	})
}

// replyFields returns the readers of the fields with the answer of a webhook.
func (p *parser) replyFields(r *WebhookReply) map[string]func(*yaml.Node) {
	return map[string]func(*yaml.Node){
		"response": func(n *yaml.Node) {
			before := len(p.mistakes)
			switch r.Response = p.tree(n, replyMarks); r.Response.(type) {
			case map[string]any, Computed:
			default:
				if len(p.mistakes) == before {
					p.mistake(n, "response takes a mapping, or %s and an expression that returns one", tagCEL)
				}
			}
		},
		"body":    func(n *yaml.Node) { r.Body = p.tree(n, replyMarks) },
		"code":    func(n *yaml.Node) { r.Code = p.number(n, "code", "an HTTP status", 200, 599) },
		"headers": func(n *yaml.Node) { r.Headers = p.texts(n, "the headers") },
		"silent":  func(n *yaml.Node) { r.Silent = p.oneOf(n, silentModes) },
	}
}

// checkReply reports fields of a reply that exclude each other, and fields that are
// missing.
func (p *parser) checkReply(n *yaml.Node, r WebhookReply) {
	ways := 0
	for _, given := range []bool{r.Response != nil, r.Body != nil, r.Silent != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		p.mistake(n, "a webhook must have exactly one of response, body and silent")
	case r.Silent != "" && (r.Code != 0 || r.Headers != nil):
		p.mistake(n, "a silent webhook cannot have code or headers")
	}
}
