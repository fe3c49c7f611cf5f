package history

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/redact"
)

// Entry is a request on its way. Its methods may be called by several goroutines, and a nil Entry
// ignores them.
type Entry struct {
	of      *Recorder
	is      inspect.Request // guarded by of.mu
	held    int             // bytes that the path and its parts keep in memory
	began   time.Time
	kept    bool
	running bool
	reached int64 // the revision up to which a watch has delivered everything; 0: no value yet
	streams bool  // the answer has begun, and goes on
	// before is what has been forgotten of a request that runs; forgotten says that all has.
	before    inspect.Counts
	forgotten bool
	// body is what the client has sent, until the request ends. secret says that the request is about a Secret,
	// which neither its resource nor its body shows.
	body   []byte
	secret bool

	previous, next *Entry // among those that run
}

// keep adds an entry to those that are remembered.
func (e *Entry) keep() {
	r := e.of
	if e.is.Number != 0 {
		return
	}
	r.number++
	if !isHeartbeat(&e.is) {
		r.moved++
	}
	e.is.Number, e.is.Running, e.kept, e.running = r.number, true, true, true
	e.is.UserAgent, e.is.Verb = r.once(bounded(e.is.UserAgent)), bounded(e.is.Verb)
	if e.next = r.running; e.next != nil {
		e.next.previous = e
	}
	r.running = e
	r.bytes += e.texts()
	r.kept.push(e)
	r.drop()
	r.wake()
}

// bounded returns the beginning of a name, so that long ones do not fill the memory.
func bounded(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.Clone(strings.ToValidUTF8(name[:maxName], ""))
}

// User sets who makes the request.
func (e *Entry) User(user string) {
	if e != nil {
		e.of.mu.Lock()
		e.is.User = bounded(user)
		e.of.mu.Unlock()
	}
}

// SentBody returns the body of the request, until it ends. The caller does not change it.
func (e *Entry) SentBody() []byte {
	if e == nil {
		return nil
	}
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	return e.body
}

// Body sets the body of the request. The caller does not change the body until the request ends.
func (e *Entry) Body(body []byte) {
	if e != nil {
		e.of.mu.Lock()
		e.body = body
		e.of.mu.Unlock()
	}
}

// HoldsSecret records that the texts about the request may contain values of a Secret, although the request is
// not for one.
func (e *Entry) HoldsSecret() {
	if e != nil {
		e.of.mu.Lock()
		e.secret = true
		e.of.mu.Unlock()
	}
}

// Shown returns what decides what may be shown of the texts about the request. All texts of an Entry that
// others make up pass through it.
func (e *Entry) Shown() redact.Request {
	if e == nil {
		return redact.Request{}
	}
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	return redact.Request{
		Group: e.is.Group, Resource: e.is.Resource, Subresource: e.is.Subresource, Namespace: e.is.Namespace, Name: e.is.Name, User: e.is.User,
		Body: e.body, Secret: e.secret,
	}
}

// shownText returns what may be shown of a text, without the end of a long one.
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
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	e.is.Reason = metav1.StatusReason(reason)
	e.setText(&e.is.Message, message)
}

// Fault records a fault that has struck the request. A request is struck by several, and by each of them
// several times, if it calls webhooks.
func (e *Entry) Fault(fault string) {
	if e == nil {
		return
	}
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	noted := strings.Split(e.is.Fault, ", ")
	switch {
	case e.is.Fault == "":
		e.setText(&e.is.Fault, fault)
	case !slices.Contains(noted, fault) && len(noted) < maxFaults:
		e.setText(&e.is.Fault, e.is.Fault+", "+fault)
	}
}

// Panicked is the Reason of a request whose handler has panicked.
const Panicked = "Panic"

// Panic records that the handler of the request has panicked, and returns what may be shown of the reason.
func (e *Entry) Panic(what string) string {
	e.Failed(&metav1.Status{Reason: Panicked, Message: what})
	e.Responded(500, false)
	return e.Shown().Text(what)
}

// setText sets a text and keeps account of its length.
func (e *Entry) setText(text *string, to string) {
	more := len(to) - len(*text)
	*text = to
	if e.kept {
		e.of.bytes += more
		e.of.drop()
	}
}

// Responded records the code of the response, before the response begins. A request that streams goes on.
func (e *Entry) Responded(code int, streams bool) {
	if e == nil {
		return
	}
	took := time.Since(e.began)
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	if e.streams && code < 400 {
		return // net/http knows of no answer over a connection that was taken over
	}
	e.is.Code, e.streams = code, streams
	e.of.wake()
	if !streams {
		e.is.Latency, e.is.Running = took, false
	}
}

// Unchanged records that a write would have changed nothing.
func (e *Entry) Unchanged() {
	if e != nil {
		e.of.mu.Lock()
		e.is.Repeats = e.is.Revisions == 0
		e.of.mu.Unlock()
	}
}

// Committed records a revision that the request makes, before anybody can read it.
func (e *Entry) Committed(revision int64) {
	if e == nil {
		return
	}
	r := e.of
	r.mu.Lock()
	defer r.mu.Unlock()
	e.keep()
	r.newest = revision
	if !isHeartbeat(&e.is) {
		r.movedTo = revision
	}
	r.wake()
	e.is.Revision, e.is.Repeats = revision, false
	e.is.Revisions++
	r.writers.note(revision, Writer{
		Time: e.is.Time, User: e.is.User, UserAgent: e.is.UserAgent, Verb: e.is.Verb, Patch: e.is.Patch, Subresource: strings.Clone(e.is.Subresource), Request: e.is.Number,
	}, r.oldest())
}

// Webhook records a call of a webhook for the request.
func (e *Entry) Webhook(c inspect.WebhookCall) {
	if e == nil {
		return
	}
	c.Message = e.shownText(c.Message)
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	if hook := (Hook{c.Configuration, c.Webhook}); e.of.calls[hook] > 0 || len(e.of.calls) < maxNames {
		e.of.calls[hook]++
	}
	e.is.Webhooks = append(e.is.Webhooks[:len(e.is.Webhooks):len(e.is.Webhooks)], c)
	if e.kept {
		e.of.bytes += len(c.Message)
		e.of.drop()
	}
}

// Warning records a warning in the response.
func (e *Entry) Warning(text string) {
	if e == nil {
		return
	}
	text = e.shownText(text)
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	e.is.Warnings = append(e.is.Warnings[:len(e.is.Warnings):len(e.is.Warnings)], text)
	if e.kept {
		e.of.bytes += len(text)
		e.of.drop()
	}
}

// DroppedStatus records that a write carried a status that its kind does not take there.
func (e *Entry) DroppedStatus() {
	if e != nil {
		e.of.mu.Lock()
		e.is.DropsStatus = true
		e.of.mu.Unlock()
	}
}

// Overtaken records that another write came first: the client has read one revision of the object, and the
// object has another.
func (e *Entry) Overtaken(read, found int64) {
	if e != nil {
		e.of.mu.Lock()
		e.is.Read, e.is.Found = read, found
		e.of.mu.Unlock()
	}
}

// Sent counts bytes of the response that have been sent, and events of a watch.
func (e *Entry) Sent(bytes, events int) {
	if e != nil {
		e.of.mu.Lock()
		e.is.Sent += int64(bytes)
		e.is.Events += int64(events)
		e.of.mu.Unlock()
	}
}

// End records that nothing more happens for the request, and counts it.
func (e *Entry) End() { e.EndAfter(0) }

// EndAfter is Sent and End at once.
func (e *Entry) EndAfter(bytes int) {
	if e == nil {
		return
	}
	r := e.of
	r.mu.Lock()
	defer r.mu.Unlock()
	if !e.running {
		return
	}
	e.running, e.body = false, nil
	e.is.Sent += int64(bytes)
	r.wake()
	if e.is.Running {
		e.is.Running, e.is.Latency = false, time.Since(e.began)
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
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	return e.is.Number
}
