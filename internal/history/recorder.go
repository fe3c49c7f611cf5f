package history

import (
	"maps"
	"sync"
	"time"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/redact"
)

// The bounds of a Recorder.
const (
	MaxRequests = 10_000
	MaxBytes    = 8 << 20
	MaxCounted  = 10_000

	maxMessage = 4 << 10 // bytes of a message
	maxName    = 512     // bytes of the name of a user, a program or a resource
	maxFaults  = 16      // faults of a request
	maxNames   = 1_000   // shared user agents, and counted webhooks
)

// Recorder records requests. It is safe for concurrent use. Create it with New.
type Recorder struct {
	now    func() time.Time // the cluster's clock; nil: that of the process
	oldest func() int64     // the oldest revision of the store

	mu        sync.Mutex
	number    int64
	moved     int64 // requests that are not heartbeats
	kept      ring
	bytes     int // of the texts in kept
	running   *Entry
	counts    map[inspect.Counted]*inspect.Counts
	counted   inspect.Counted // of the request that was counted last
	latest    *inspect.Counts // the counts of counted; nil: none
	agents    map[string]string
	writers   writers
	calls     map[Hook]int64
	began     time.Time
	wakes     chan struct{} // closed by the next change; nil: nobody waits
	newest    int64         // the newest revision of a request
	movedTo   int64         // newest, without heartbeats
	forgotten int64         // requests of revisions up to this one are forgotten
}

// New returns a Recorder. oldest returns the oldest revision of the store; it must not take a lock. A nil now is the
// clock of the process.
func New(now func() time.Time, oldest func() int64) *Recorder {
	r := &Recorder{now: now, oldest: oldest, counts: map[inspect.Counted]*inspect.Counts{}, agents: map[string]string{}, calls: map[Hook]int64{}}
	r.began = r.time()
	return r
}

// time returns the time of the cluster.
func (r *Recorder) time() time.Time {
	if r.now != nil {
		return r.now()
	}
	return time.Now()
}

// Began returns the time from which requests count: when the Recorder was created, or of the last Forget or Restart.
func (r *Recorder) Began() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.began
}

// Fork returns a Recorder with the writers of the revisions up to the given one, and without requests.
func (r *Recorder) Fork(revision int64, oldest func() int64) *Recorder {
	f := New(r.now, oldest)
	r.mu.Lock()
	defer r.mu.Unlock()
	f.writers, f.newest, f.forgotten = r.writers.until(revision), revision, revision
	return f
}

// Restart forgets all requests, as Forget does, and numbers later ones from 1. No request may be in flight.
func (r *Recorder) Restart() {
	r.Forget()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number = 0
}

// Forget forgets the ended requests and their counts, but not the writers of revisions. Requests in flight stay, with
// their numbers, and their counts so far are dropped. Numbers continue, so that no two requests have the same one.
func (r *Recorder) Forget() {
	now := r.time()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = now
	r.bytes, r.forgotten = 0, r.newest
	for e := r.running; e != nil; e = e.next {
		e.before, e.forgotten = countsUntil(&e.request), !e.request.Running // the client may already have the response
	}
	var running ring
	for i := range r.kept.length {
		e := r.kept.entry(i)
		if e.kept = e.running && !e.forgotten; e.kept {
			r.bytes += e.texts()
			running.push(e)
		}
	}
	r.kept = running
	clear(r.counts)
	r.latest = nil
}

// Begin records that a request has begun. The caller sets the known fields, except Number and Time. held is the size of
// the text, such as the first line of the request, that the path and its parts keep in memory.
func (r *Recorder) Begin(q inspect.Request, held int) *Entry {
	e := r.Prepare(q)
	e.held = held
	r.mu.Lock()
	defer r.mu.Unlock()
	e.keep()
	return e
}

// Prepare returns an Entry for a write that may not happen. It is recorded with its first revision.
func (r *Recorder) Prepare(q inspect.Request) *Entry {
	q.Options = redact.Query(q.Options)
	e := &Entry{recorder: r, request: q, began: time.Now()}
	e.request.Time = e.began
	if r.now != nil {
		e.request.Time = r.now()
	}
	return e
}

// once returns a shared copy of a user agent, so that requests do not keep their own.
func (r *Recorder) once(agent string) string {
	if kept, ok := r.agents[agent]; ok {
		return kept
	}
	if len(r.agents) < maxNames {
		r.agents[agent] = agent
	}
	return agent
}

// drop drops the oldest requests beyond the bounds.
func (r *Recorder) drop() {
	for r.kept.length > MaxRequests || r.bytes > MaxBytes && r.kept.length > 1 {
		e := r.kept.pop()
		if e.kept {
			e.kept = false
			r.bytes -= e.texts()
		}
	}
}

// Requests returns the recorded requests, in the order in which they began.
func (r *Recorder) Requests() []inspect.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	requests := make([]inspect.Request, r.kept.length)
	for i := range requests {
		e := r.kept.entry(i)
		requests[i] = e.request
		if e.request.Running {
			requests[i].Latency = time.Since(e.began)
		}
	}
	return requests
}

// Calls returns how often each webhook was called.
func (r *Recorder) Calls() map[Hook]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.calls)
}

// Writer returns the writer of a revision. ok is false for revisions that a server makes when it
// starts, and for older ones.
func (r *Recorder) Writer(revision int64) (by Writer, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	by, ok = r.writers.writerOf(revision)
	if revision <= r.forgotten {
		by.Request = 0
	}
	return by, ok
}
