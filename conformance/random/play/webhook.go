package play

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// AnswerPrefix begins the annotation that says what a webhook answers: its name follows. Objects without it are allowed.
const AnswerPrefix = "random.example.com/"

// Answer is what an annotation says. It is an AdmissionResponse whose patch is not encoded, or anything else.
type Answer struct {
	Allowed          bool              `json:"allowed"`
	Patch            any               `json:"patch,omitempty"`
	Status           any               `json:"status,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	PatchType        string            `json:"patchType,omitempty"` // in the place of JSONPatch
	UID              string            `json:"uid,omitempty"`       // in the place of the one of the review
	// Code and Body are answered in the place of a review, if there is a code.
	Code int    `json:"code,omitempty"`
	Body string `json:"body,omitempty"`
}

// Webhooks is a server of admission webhooks that answer as objects ask for, and keep what they were sent. Its URLs are
// BASE/HISTORY/NAME, with a BASE for each server that calls it.
type Webhooks struct {
	server *httptest.Server
	mu     sync.Mutex
	called map[string][]call // by base and history
}

// call is a review that a webhook was sent.
type call struct {
	name string
	body []byte
}

// NewWebhooks starts a server of webhooks.
func NewWebhooks() *Webhooks {
	w := &Webhooks{called: map[string][]call{}}
	w.server = httptest.NewUnstartedServer(w)
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.server.StartTLS()
	return w
}

// Close ends the server.
func (w *Webhooks) Close() { w.server.Close() }

// Values returns those of references in requests of a server, whose name is part of the URLs.
func (w *Webhooks) Values(name string) map[string]string {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})
	return map[string]string{"webhook": w.server.URL + "/" + name, "authority": base64.StdEncoding.EncodeToString(authority)}
}

// ServeHTTP answers a review as its object asks for.
func (w *Webhooks) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if len(parts) != 3 {
		http.NotFound(response, request)
		return
	}
	key, name := parts[0]+"/"+parts[1], parts[2]
	if field, converts := strings.CutPrefix(name, ConversionPrefix); converts {
		_, _ = response.Write(converted(body, field))
		return
	}
	if !ownEvent(body) {
		w.mu.Lock()
		w.called[key] = append(w.called[key], call{name, body})
		w.mu.Unlock()
	}
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    struct {
			UID               string
			Object, OldObject struct {
				Metadata struct{ Annotations map[string]string }
			}
		} `json:"request"`
	}
	_ = json.Unmarshal(body, &review) // what has another form gets the usual answer
	text := review.Request.Object.Metadata.Annotations[AnswerPrefix+name]
	if text == "" {
		text = review.Request.OldObject.Metadata.Annotations[AnswerPrefix+name]
	}
	answer := Answer{Allowed: true}
	if text != "" {
		answer = Answer{}
		if json.Unmarshal([]byte(text), &answer) != nil {
			answer = Answer{Code: http.StatusOK, Body: text}
		}
	}
	if answer.Code != 0 {
		response.WriteHeader(answer.Code)
		_, _ = io.WriteString(response, answer.Body)
		return
	}
	_ = json.NewEncoder(response).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": answer.review(review.Request.UID)})
}

// ownEvent reports whether a review is about an Event that the server itself creates. A real server has controllers that tell of what
// they do, such as the repair of the address of a Service, at times that are chance.
func ownEvent(body []byte) bool {
	request := gjson.GetBytes(body, "request")
	return request.Get("userInfo.username").Str == "system:apiserver" && request.Get("resource.resource").Str == "events"
}

// review returns the response of an AdmissionReview.
func (a Answer) review(uid string) map[string]any {
	response := map[string]any{"uid": cmp.Or(a.UID, uid), "allowed": a.Allowed}
	if a.Patch != nil {
		patch, err := json.Marshal(a.Patch)
		if err == nil {
			response["patch"], response["patchType"] = patch, cmp.Or(a.PatchType, "JSONPatch")
		}
	}
	if a.Status != nil {
		response["status"] = a.Status
	}
	if a.Warnings != nil {
		response["warnings"] = a.Warnings
	}
	if a.AuditAnnotations != nil {
		response["auditAnnotations"] = a.AuditAnnotations
	}
	return response
}

// take returns the reviews that the webhooks of a history were sent since the last time, and forgets them. Those of
// webhooks that are called at the same time are in the order of their names.
func (w *Webhooks) take(key string) []call {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.called[key]
	delete(w.called, key)
	slices.SortStableFunc(calls, func(a, b call) int { return strings.Compare(a.name, b.name) })
	var taken []call
	for i, c := range calls {
		if i == 0 || !c.repeats(calls[i-1]) {
			taken = append(taken, c)
		}
	}
	return taken
}

// reviewed returns calls as an answer to a step.
func reviewed(calls []call) answer {
	var body bytes.Buffer
	for _, c := range calls {
		body.WriteString(`"` + c.name + `"` + "\n")
		body.Write(c.body)
		body.WriteString("\n")
	}
	return answer{code: http.StatusOK, body: body.Bytes(), calls: calls}
}

// withoutStale returns the calls of the first server without those of an attempt that it made with a stale object. A real server
// begins a write with the object of its watch cache. If the cache lags, which is chance, the server finds out only at the
// commit, and calls the webhooks again with the stored object. The calls of the last attempt stay, and are compared.
//
// Left out are calls of a webhook so that those that the second server made are left, in their order, if each one that is left out shows
// another old object, or another operation, than the next one that stays: that took its place. If the others are not those of the second
// server, the first calls are left out, up to half of all.
func withoutStale(first, second []call) []call {
	var current []call
	for len(first) > 0 {
		calls := sameWebhook(first)
		first = first[len(calls):]
		var expected []call
		for _, c := range second {
			if c.name == calls[0].name {
				expected = append(expected, c)
			}
		}
		if stale := len(calls) - len(expected); stale > 0 && stale <= len(expected) {
			switch kept, ok := lastAlike(calls, expected); {
			case ok && replaced(calls, kept):
				calls = chosen(calls, kept)
			case !ok && replaced(calls, lastOnes(len(calls), len(expected))):
				calls = calls[stale:]
			}
		}
		current = append(current, calls...)
	}
	return current
}

// lastAlike returns the indices of calls that are like the expected ones, in their order, the last ones that there are.
func lastAlike(calls, expected []call) (kept []int, ok bool) {
	next := len(calls)
	for _, want := range slices.Backward(expected) {
		text := want.text()
		for next--; next >= 0 && calls[next].text() != text; next-- {
		}
		if next < 0 {
			return nil, false
		}
		kept = append(kept, next)
	}
	slices.Reverse(kept)
	return kept, true
}

// lastOnes returns the last indices of so many.
func lastOnes(total, count int) []int {
	indices := make([]int, count)
	for i := range indices {
		indices[i] = total - count + i
	}
	return indices
}

func chosen(calls []call, indices []int) []call {
	var some []call
	for _, i := range indices {
		some = append(some, calls[i])
	}
	return some
}

// replaced reports whether each call that is not kept has another state than one that came later in its place: the next one that is kept and,
// if several calls in a row are not kept, those behind it.
func replaced(calls []call, kept []int) bool {
	left, next := 0, 0 // how many calls in a row are not kept, and the first one of kept behind them
	for i := range calls {
		if next < len(kept) && kept[next] == i {
			left, next = 0, next+1
			continue
		}
		if next+left >= len(kept) || calls[i].sameState(calls[kept[next+left]]) {
			return false // the webhook was called again for another reason
		}
		left++
	}
	return true
}

// withScales returns the calls of the first server with those of the second in the place of reviews of Scales that differ in the order of fields
// only. A real server has a Scale of a custom object as a typed object, or as a map with sorted fields once it has lost its kind, which
// is chance: a history in which it has does not repeat that.
func withScales(first, second []call) []call {
	if len(first) != len(second) {
		return first
	}
	first = slices.Clone(first)
	for i, c := range first {
		other := second[i]
		if c.name == other.name && gjson.GetBytes(c.body, "request.kind.kind").Str == "Scale" && c.sorted().text() == other.sorted().text() {
			first[i] = other
		}
	}
	return first
}

// sorted returns the call with the fields of its review in the order of their names.
func (c call) sorted() call {
	var review any
	decoder := json.NewDecoder(bytes.NewReader(c.body))
	decoder.UseNumber()
	if decoder.Decode(&review) != nil {
		return c
	}
	body, err := json.Marshal(review)
	if err != nil {
		return c
	}
	return call{c.name, body}
}

// text returns the review as it is compared.
func (c call) text() string { return reviewed([]call{c}).text(Step{Method: Reviews}) }

// sameWebhook returns the first calls, as far as they are of one webhook.
func sameWebhook(calls []call) []call {
	for i, c := range calls {
		if c.name != calls[0].name {
			return calls[:i]
		}
	}
	return calls
}

// sameState reports whether two reviews show the same old object in the same operation, though not in the same review again. A real
// server attempts a write again that changes nothing if what is stored is not, byte for byte, what it has encoded.
func (c call) sameState(other call) bool {
	if c.sameRequest(other) {
		return false
	}
	for _, path := range []string{"request.operation", "request.oldObject"} {
		if gjson.GetBytes(c.body, path).Raw != gjson.GetBytes(other.body, path).Raw {
			return false
		}
	}
	return true
}

// reviewUID is the uid of a request.
var reviewUID = regexp.MustCompile(`"uid":"[^"]*"`)

// repeats reports whether a review of a delete is the one before it again. A real server sends it again if its watch cache does not
// have the object yet which the delete has marked a moment ago, which is chance.
func (c call) repeats(before call) bool {
	return bytes.Contains(c.body, []byte(`"operation":"DELETE"`)) && c.sameRequest(before)
}

// sameRequest reports whether two reviews of a webhook differ in nothing but their uids.
func (c call) sameRequest(before call) bool {
	if c.name != before.name {
		return false
	}
	first := reviewUID.FindIndex(c.body)
	second := reviewUID.FindIndex(before.body)
	return first != nil && second != nil && bytes.Equal(c.body[first[1]:], before.body[second[1]:])
}
