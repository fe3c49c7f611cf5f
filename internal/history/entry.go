package history

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/redact"
)

// Entry is a request in the history. Its methods are safe for concurrent use, and do nothing for a nil Entry.
type Entry struct {
	recorder *Recorder
	request  inspect.Request // guarded by recorder.mu
	held     int             // bytes of memory for the path and its parts
	began    time.Time
	kept     bool
	running  bool
	reached  int64 // the revision up to which a watch has delivered everything; 0: no value yet
	streams  bool  // the response has begun and continues
	// before has the counts of a running request that have been forgotten. forgotten: the whole request has.
	before    inspect.Counts
	forgotten bool
	// body is the body of the request until it ends. secret: the request may contain values of a Secret, although
	// neither its resource nor its body shows it.
	body   []byte
	secret bool

	previous, next *Entry // running entries
}

// keep adds an entry to the recorded ones.
func (e *Entry) keep() {
	r := e.recorder
	if e.request.Number != 0 {
		return
	}
	r.number++
	if !isHeartbeat(&e.request) {
		r.moved++
	}
	e.request.Number, e.request.Running, e.kept, e.running = r.number, true, true, true
	e.request.UserAgent, e.request.Verb = r.once(bounded(e.request.UserAgent)), bounded(e.request.Verb)
	e.request.AuditID = bounded(e.request.AuditID)
	if e.next = r.running; e.next != nil {
		e.next.previous = e
	}
	r.running = e
	r.bytes += e.texts()
	r.kept.push(e)
	r.drop()
	r.wake()
}

// bounded returns the first maxName bytes of a name, to bound the memory.
func bounded(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.Clone(strings.ToValidUTF8(name[:maxName], ""))
}

// User sets who makes the request.
func (e *Entry) User(user string) {
	if e != nil {
		e.recorder.mu.Lock()
		e.request.User = bounded(user)
		e.recorder.mu.Unlock()
	}
}

// SentBody returns the body of the request until it ends. The caller must not alter it.
func (e *Entry) SentBody() []byte {
	if e == nil {
		return nil
	}
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	return e.body
}

// Body sets the body of the request. The caller must not alter it until the request ends.
func (e *Entry) Body(body []byte) {
	if e != nil {
		e.recorder.mu.Lock()
		e.body = body
		e.recorder.mu.Unlock()
	}
}

// HoldsSecret records that the texts about the request may contain values of a Secret, although the request is
// not for one.
func (e *Entry) HoldsSecret() {
	if e != nil {
		e.recorder.mu.Lock()
		e.secret = true
		e.recorder.mu.Unlock()
	}
}

// Shown returns the redaction for texts about the request. All texts of an Entry from other code pass through it.
func (e *Entry) Shown() redact.Request {
	if e == nil {
		return redact.Request{}
	}
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	return redact.Request{
		Group: e.request.Group, Resource: e.request.Resource, Subresource: e.request.Subresource, Namespace: e.request.Namespace, Name: e.request.Name, User: e.request.User,
		Body: e.body, Secret: e.secret,
	}
}

// shownText returns a text without hidden values, shortened to maxMessage bytes.
func (e *Entry) shownText(text string) string { return shortened(e.Shown().Text(text)) }

func shortened(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}

// Failed records the Status of a failure, before the response begins.
func (e *Entry) Failed(status *metav1.Status) {
	if e == nil {
		return
	}
	reason, message := e.Shown().Status(status)
	message = shortened(message)
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	e.request.Reason = metav1.StatusReason(reason)
	e.setText(&e.request.Message, message)
}

// Fault records a fault that has struck the request. Several faults may strike a request, and each of them several times
// if it calls webhooks.
func (e *Entry) Fault(fault string) {
	if e == nil {
		return
	}
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	noted := strings.Split(e.request.Fault, ", ")
	switch {
	case e.request.Fault == "":
		e.setText(&e.request.Fault, fault)
	case !slices.Contains(noted, fault) && len(noted) < maxFaults:
		e.setText(&e.request.Fault, e.request.Fault+", "+fault)
	}
}

// Panicked is the Reason of a request whose handler has panicked.
const Panicked = "Panic"

// Panic records that the handler of the request has panicked, and returns the reason without hidden values.
func (e *Entry) Panic(what string) string {
	e.Failed(&metav1.Status{Reason: Panicked, Message: what})
	e.Responded(500, false)
	return e.Shown().Text(what)
}

// setText sets a text and updates the size of all texts.
func (e *Entry) setText(text *string, to string) {
	more := len(to) - len(*text)
	*text = to
	if e.kept {
		e.recorder.bytes += more
		e.recorder.drop()
	}
}

// Responded records the code of the response, before the response begins. streams: the response continues, as that of a
// watch.
func (e *Entry) Responded(code int, streams bool) {
	if e == nil {
		return
	}
	took := time.Since(e.began)
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	if e.streams && code < 400 {
		return // the response to a hijacked connection is not known
	}
	e.request.Code, e.streams = code, streams
	e.recorder.wake()
	if !streams {
		e.request.Latency, e.request.Running = took, false
	}
}

// Unchanged records that a write would have changed nothing.
func (e *Entry) Unchanged() {
	if e != nil {
		e.recorder.mu.Lock()
		e.request.Repeats = e.request.Revisions == 0
		e.recorder.mu.Unlock()
	}
}

// Committed records a revision of the request, before it can be read.
func (e *Entry) Committed(revision int64) {
	if e == nil {
		return
	}
	r := e.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	e.keep()
	r.newest = revision
	if !isHeartbeat(&e.request) {
		r.movedTo = revision
	}
	r.wake()
	e.request.Revision, e.request.Repeats = revision, false
	e.request.Revisions++
	r.writers.note(revision, Writer{
		Time: e.request.Time, User: e.request.User, UserAgent: e.request.UserAgent, AuditID: e.request.AuditID, Verb: e.request.Verb, Patch: e.request.Patch, Subresource: strings.Clone(e.request.Subresource), Request: e.request.Number,
	}, r.oldest())
}

// Webhook records a call of a webhook for the request.
func (e *Entry) Webhook(c inspect.WebhookCall) {
	if e == nil {
		return
	}
	c.Message = e.shownText(c.Message)
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	if hook := (Hook{c.Configuration, c.Webhook}); e.recorder.calls[hook] > 0 || len(e.recorder.calls) < maxNames {
		e.recorder.calls[hook]++
	}
	e.request.Webhooks = append(e.request.Webhooks[:len(e.request.Webhooks):len(e.request.Webhooks)], c)
	if e.kept {
		e.recorder.bytes += len(c.Message)
		e.recorder.drop()
	}
}

// Warning records a warning in the response.
func (e *Entry) Warning(text string) {
	if e == nil {
		return
	}
	text = e.shownText(text)
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	e.request.Warnings = append(e.request.Warnings[:len(e.request.Warnings):len(e.request.Warnings)], text)
	if e.kept {
		e.recorder.bytes += len(text)
		e.recorder.drop()
	}
}

// DroppedStatus records that a write contained a status, which its kind accepts only at /status.
func (e *Entry) DroppedStatus() {
	if e != nil {
		e.recorder.mu.Lock()
		e.request.DropsStatus = true
		e.recorder.mu.Unlock()
	}
}

// Overtaken records that another write came first: the client has read one revision of the object, and the
// object has another.
func (e *Entry) Overtaken(read, found int64) {
	if e != nil {
		e.recorder.mu.Lock()
		e.request.Read, e.request.Found = read, found
		e.recorder.mu.Unlock()
	}
}

// Sent counts bytes of the response that have been sent, and events of a watch.
func (e *Entry) Sent(bytes, events int) {
	if e != nil {
		e.recorder.mu.Lock()
		e.request.Sent += int64(bytes)
		e.request.Events += int64(events)
		e.recorder.mu.Unlock()
	}
}

// End ends the request, and counts it.
func (e *Entry) End() { e.EndAfter(0) }

// EndAfter is Sent followed by End.
func (e *Entry) EndAfter(bytes int) {
	if e == nil {
		return
	}
	r := e.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if !e.running {
		return
	}
	e.running, e.body = false, nil
	e.request.Sent += int64(bytes)
	r.wake()
	if e.request.Running {
		e.request.Running, e.request.Latency = false, time.Since(e.began)
	}
	if e.next != nil {
		e.next.previous = e.previous
	}
	if e.previous != nil {
		e.previous.next = e.next
	} else {
		r.running = e.next
	}
	e.previous, e.next = nil, nil
	if !e.forgotten {
		r.countEnded(e)
	}
}

// Number returns the number of the request; 0 for nil.
func (e *Entry) Number() int64 {
	if e == nil {
		return 0
	}
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	return e.request.Number
}
