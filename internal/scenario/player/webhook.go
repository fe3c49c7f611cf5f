package player

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// webhook is a webhook in a running scenario.
type webhook struct {
	syntax.Webhook

	mu sync.Mutex
	// reply is the current answer.
	reply syntax.WebhookReply
	// calls are the calls that no step has read yet.
	calls []any
	// failed is the error that kept the webhook from its answer.
	failed error
}

// webhooks are the webhooks of a running scenario.
type webhooks []*webhook

func startWebhooks(s *syntax.Scenario) webhooks {
	started := make(webhooks, len(s.Webhooks))
	for i, w := range s.Webhooks {
		started[i] = &webhook{Webhook: w, reply: w.Reply, calls: []any{}}
	}
	return started
}

// services returns the services that the cluster has to reach. Webhooks may share one.
func (ws webhooks) services() []Service {
	var services []Service
	behind := map[syntax.Service]byPath{}
	for _, w := range ws {
		if behind[w.At] == nil {
			behind[w.At] = byPath{}
			services = append(services, Service{w.At, behind[w.At]})
		}
		behind[w.At][w.Path] = w
	}
	return services
}

// byPath has the webhooks of one service by the paths of their URLs.
type byPath map[string]*webhook

func (b byPath) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w := b[r.URL.Path]
	if w == nil {
		w = b[""]
	}
	if w == nil {
		http.NotFound(to, r)
		return
	}
	w.ServeHTTP(to, r)
}

// answers returns the webhooks in the form in which steps refer to them: what a
// configuration needs to reach each of them, under its name.
func (ws webhooks) answers(c Backend) map[string]Answer {
	answers := map[string]Answer{}
	for _, w := range ws {
		answers[w.Name] = Answer{Body: map[string]any{
			"caBundle": base64.StdEncoding.EncodeToString(c.CABundle()),
			"url":      c.ServiceURL(w.At.Namespace, w.At.Name, w.At.Port) + w.Path,
		}}
	}
	return answers
}

// webhookOf returns the webhook that the argument of a step names. The parser has checked that it
// exists.
func (ws webhooks) webhookOf(argument map[string]any) *webhook {
	return ws[slices.IndexFunc(ws, func(w *webhook) bool { return w.Name == argument["name"] })]
}

// failure returns the error of the first webhook that could not answer as the scenario says.
func (ws webhooks) failure() error {
	for _, w := range ws {
		w.mu.Lock()
		failed := w.failed
		w.mu.Unlock()
		if failed != nil {
			return fmt.Errorf("the webhook %s: %w", w.Name, failed)
		}
	}
	return nil
}

// setReply changes the answer of the webhook.
func (w *webhook) setReply(to syntax.WebhookReply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reply = to
}

// checkpoint returns a function that removes the calls after it.
func (ws webhooks) checkpoint() (forget func()) {
	counts := make([]int, len(ws))
	for i, w := range ws {
		w.mu.Lock()
		counts[i] = len(w.calls)
		w.mu.Unlock()
	}
	return func() {
		for i, w := range ws {
			w.mu.Lock()
			w.calls = w.calls[:min(counts[i], len(w.calls))]
			w.mu.Unlock()
		}
	}
}

// undoRead returns a function that restores the calls that are read after it.
func (w *webhook) undoRead() (unread func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls = append(slices.Clip(calls), w.calls...)
	}
}

// read returns the calls since the last call of read.
func (w *webhook) read() []any {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = []any{}
	return calls
}

// ServeHTTP records the call, and answers.
func (w *webhook) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller has gone
	}
	var review any
	if utiljson.Unmarshal(text, &review) != nil {
		review = string(text)
	}
	headers := map[string]any{}
	for name := range r.Header {
		headers[name] = r.Header.Get(name)
	}
	w.mu.Lock()
	w.calls = append(w.calls, map[string]any{
		"method": r.Method, "path": r.URL.RequestURI(), "headers": headers, "review": review,
	})
	now := w.reply
	w.mu.Unlock()

	switch now.Silent {
	case syntax.SilentHang:
		<-r.Context().Done()
		fallthrough
	case syntax.SilentClose:
		panic(http.ErrAbortHandler) // closes the connection without a response
	}
	media, body, err := replyTo(now, review)
	if err != nil {
		w.mu.Lock()
		w.failed = errors.Join(w.failed, err)
		w.mu.Unlock()
		http.Error(to, err.Error(), http.StatusInternalServerError)
		return
	}
	to.Header().Set("Content-Type", media)
	for name, value := range now.Headers {
		to.Header().Set(name, fmt.Sprint(value))
	}
	if now.Code != 0 {
		to.WriteHeader(now.Code)
	}
	_, _ = to.Write(body) // a caller that has gone misses nothing
}

// replyTo returns the answer to a review, with its media type.
func replyTo(r syntax.WebhookReply, review any) (media string, body []byte, err error) {
	fields, _ := review.(map[string]any)
	request := fields["request"]
	answer, err := compute(r.Body, request)
	if err != nil {
		return "", nil, err
	}
	if text, ok := answer.(string); ok {
		return "text/plain", []byte(text), nil
	}
	if r.Response != nil {
		response, err := compute(r.Response, request)
		if err != nil {
			return "", nil, err
		}
		decoded, ok := response.(map[string]any)
		if !ok {
			return "", nil, fmt.Errorf("the response must be a mapping, not %v", response)
		}
		requested, _ := request.(map[string]any)
		answer = map[string]any{
			"apiVersion": fields["apiVersion"], "kind": fields["kind"], "response": withDefault(decoded, "uid", requested["uid"]),
		}
	}
	body, err = json.Marshal(plain(answer))
	return "application/json", body, err
}
