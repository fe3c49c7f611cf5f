package history

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"
)

// The bounds of a Recorder.
const (
	MaxRequests = 10_000
	MaxBytes    = 8 << 20
	MaxCounted  = 10_000

	maxMessage = 4 << 10 // bytes of a message that are kept
	maxName    = 512     // bytes of the name of a user, a program or a resource that are kept
	maxNames   = 1_000   // user agents that are kept once, whoever sends them, and webhooks that are counted
)

// Recorder remembers requests. It is safe for concurrent use. Make one with New.
type Recorder struct {
	now    func() time.Time // the cluster's clock; nil: that of the process
	oldest func() int64     // the oldest revision that is remembered

	mu      sync.Mutex
	number  int64
	kept    ring
	bytes   int // of the texts in kept
	running *Entry
	counts  map[Counted]*Counts
	counted Counted // of the request that was counted last
	latest  *Counts // of counted, in counts; nil: none was counted
	agents  map[string]string
	writers writers
	calls   map[Hook]int64
	began   time.Time
	wakes   chan struct{} // those who wait for a change; nil: nobody does
	newest  int64         // revision that somebody has made
	known   int64         // revisions up to this one were made by requests that are not remembered here
}

// New makes a Recorder. Oldest tells which revision is the oldest that is remembered; it must not
// take a lock. A nil now is the clock of the process.
func New(now func() time.Time, oldest func() int64) *Recorder {
	r := &Recorder{now: now, oldest: oldest, counts: map[Counted]*Counts{}, agents: map[string]string{}, calls: map[Hook]int64{}}
	r.began = r.time()
	return r
}

// time is the time of the cluster.
func (r *Recorder) time() time.Time {
	if r.now != nil {
		return r.now()
	}
	return time.Now()
}

// Began is the time from which the requests count: when the Recorder was made, or last forgot.
func (r *Recorder) Began() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.began
}

// Fork makes a Recorder that knows who has made the revisions up to the given one, and no
// requests.
func (r *Recorder) Fork(revision int64, oldest func() int64) *Recorder {
	f := New(r.now, oldest)
	r.mu.Lock()
	defer r.mu.Unlock()
	f.writers, f.newest, f.known = r.writers.until(revision), revision, revision
	return f
}

// Forget forgets the requests that have ended and their counts, but not who has made which
// revision.
func (r *Recorder) Forget() {
	now := r.time()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = now
	r.kept, r.bytes, r.number, r.known = ring{}, 0, 0, r.newest
	clear(r.counts)
	r.latest = nil
	for e := r.running; e != nil; e = e.next {
		e.kept = false
	}
}

// Entry is a request on its way. Its methods may be called by several goroutines, and a nil Entry
// ignores them.
type Entry struct {
	of      *Recorder
	is      Request // guarded by of.mu
	began   time.Time
	kept    bool
	running bool
	reached int64 // the revision up to which a watch has delivered everything; 0: nobody knows
	streams bool  // the answer has begun, and goes on

	previous, next *Entry // among those that run
}

// Begin records that a request has begun. The caller fills in what it knows, but for the Number and
// the Time.
func (r *Recorder) Begin(q Request) *Entry {
	e := r.Prepare(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	e.keep()
	return e
}

// Prepare makes an Entry for a write that may not happen. It is recorded with its first revision.
func (r *Recorder) Prepare(q Request) *Entry {
	e := &Entry{of: r, is: q, began: time.Now()}
	e.is.Time = e.began
	if r.now != nil {
		e.is.Time = r.now()
	}
	return e
}

// keep adds an entry to those that are remembered.
func (e *Entry) keep() {
	r := e.of
	if e.is.Number != 0 {
		return
	}
	r.number++
	e.is.Number, e.is.Running, e.kept, e.running = r.number, true, true, true
	e.is.UserAgent, e.is.Verb = r.once(bounded(e.is.UserAgent)), bounded(e.is.Verb)
	if e.next = r.running; e.next != nil {
		e.next.previous = e
	}
	r.running = e
	r.bytes += e.is.texts()
	r.kept.push(e)
	r.drop()
	r.wake()
}

// bounded returns the beginning of a name, so that nobody fills the memory with long ones.
func bounded(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.Clone(strings.ToValidUTF8(name[:maxName], ""))
}

// once returns one copy of a user agent, so that it is not kept with each request.
func (r *Recorder) once(agent string) string {
	if known, ok := r.agents[agent]; ok {
		return known
	}
	if len(r.agents) < maxNames {
		r.agents[agent] = agent
	}
	return agent
}

// drop forgets the oldest requests if there are too many.
func (r *Recorder) drop() {
	for r.kept.length > MaxRequests || r.bytes > MaxBytes && r.kept.length > 1 {
		e := r.kept.pop()
		if e.kept {
			e.kept = false
			r.bytes -= e.is.texts()
		}
	}
}

// By says who makes the request.
func (e *Entry) By(user string) {
	if e != nil {
		e.of.mu.Lock()
		e.is.User = bounded(user)
		e.of.mu.Unlock()
	}
}

// Fail says what the answer says of a failure, before the answer begins.
func (e *Entry) Fail(reason, message string) {
	if e == nil {
		return
	}
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	e.is.Reason = reason
	e.setText(&e.is.Message, message)
}

// Struck says which fault has struck the request.
func (e *Entry) Struck(fault string) {
	if e != nil {
		e.of.mu.Lock()
		defer e.of.mu.Unlock()
		e.setText(&e.is.Fault, fault)
	}
}

// Panicked is the Reason of a request whose handler has panicked.
const Panicked = "Panic"

// Panic says that the handler of the request has panicked.
func (e *Entry) Panic(what string) {
	e.Fail(Panicked, what)
	e.Answer(500, false)
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

// Answer says that the answer begins. A request that streams goes on.
func (e *Entry) Answer(code int, streams bool) {
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

// Repeat says that a write has found the object as it was to be.
func (e *Entry) Repeat() {
	if e != nil {
		e.of.mu.Lock()
		e.is.Repeats = e.is.Revisions == 0
		e.of.mu.Unlock()
	}
}

// Made says that the request makes a revision.
func (e *Entry) Made(revision int64) {
	if e == nil {
		return
	}
	r := e.of
	r.mu.Lock()
	defer r.mu.Unlock()
	e.keep()
	r.newest = revision
	r.wake()
	e.is.Revision, e.is.Repeats = revision, false
	e.is.Revisions++
	r.writers.note(revision, Writer{
		Time: e.is.Time, User: e.is.User, UserAgent: e.is.UserAgent, Verb: e.is.Verb, Patch: e.is.Patch, Subresource: strings.Clone(e.is.Subresource), Request: e.is.Number,
	}, r.oldest())
}

// Called says that the request has had a webhook called.
func (e *Entry) Called(c Call) {
	if e == nil {
		return
	}
	if len(c.Message) > maxMessage {
		c.Message = strings.ToValidUTF8(c.Message[:maxMessage], "") + "…"
	}
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

// Sent says that bytes of the answer have been sent, with so many events of a watch.
func (e *Entry) Sent(bytes, events int) {
	if e != nil {
		e.of.mu.Lock()
		e.is.Sent += int64(bytes)
		e.is.Events += int64(events)
		e.of.mu.Unlock()
	}
}

// End says that nothing more happens for the request, and counts it.
func (e *Entry) End() { e.EndAfter(0) }

// EndAfter is Sent and End at once: so many more bytes of the answer have been sent.
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
	e.running = false
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
	r.countEnded(&e.is)
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

// Requests returns the requests that are remembered, in the order in which they began.
func (r *Recorder) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Request, r.kept.length)
	for i := range all {
		e := r.kept.at(i)
		all[i] = e.is
		if e.is.Running {
			all[i].Latency = time.Since(e.began)
		}
	}
	return all
}

// Calls returns how often each webhook was called.
func (r *Recorder) Calls() map[Hook]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.calls)
}

// Writer returns who has made a revision. It is not known of those that a server makes when it
// starts, nor of those from before.
func (r *Recorder) Writer(revision int64) (Writer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	by, ok := r.writers.of(revision)
	if revision <= r.known {
		by.Request = 0
	}
	return by, ok
}

// Key is the key of an Entry in the context of its request.
type Key struct{}

// With returns a context of a request with its entry.
func With(ctx context.Context, e *Entry) context.Context {
	return context.WithValue(ctx, Key{}, e)
}

// From returns the entry of a request; nil if there is none.
func From(ctx context.Context) *Entry {
	e, _ := ctx.Value(Key{}).(*Entry)
	return e
}

// ring is a queue of entries.
type ring struct {
	entries       []*Entry
	first, length int
}

// smallestRing is how many entries the first memory of a ring has room for. Most clusters of a test
// suite have few requests.
const smallestRing = 64

func (q *ring) push(e *Entry) {
	if q.length == len(q.entries) {
		larger := make([]*Entry, max(smallestRing, 2*q.length))
		for i := range q.length {
			larger[i] = q.at(i)
		}
		q.entries, q.first = larger, 0
	}
	q.entries[(q.first+q.length)%len(q.entries)] = e
	q.length++
}

func (q *ring) pop() *Entry {
	e := q.entries[q.first]
	q.entries[q.first] = nil
	q.first = (q.first + 1) % len(q.entries)
	q.length--
	return e
}

func (q *ring) at(i int) *Entry { return q.entries[(q.first+i)%len(q.entries)] }
