package history

import (
	"maps"
	"strings"
)

// Counted is what requests are counted by.
type Counted struct {
	User, UserAgent, Verb        string
	Group, Resource, Subresource string
}

// Counts are how many requests there were, and what became of them.
type Counts struct {
	Requests       int64
	Failures       int64 // answers with a code of 400 or more
	Conflicts      int64 // answers with code 409 and the reason Conflict
	Repeats        int64 // writes that found the object as it was to be
	Revisions      int64
	Events         int64 // that watches have delivered
	Received, Sent int64 // bytes of bodies
}

// Add adds other counts.
func (c *Counts) Add(o Counts) {
	c.Requests += o.Requests
	c.Failures += o.Failures
	c.Conflicts += o.Conflicts
	c.Repeats += o.Repeats
	c.Revisions += o.Revisions
	c.Events += o.Events
	c.Received += o.Received
	c.Sent += o.Sent
}

// countedBy returns what a request is counted by.
func countedBy(q *Request) Counted {
	return Counted{q.User, q.UserAgent, bounded(q.Verb), bounded(q.Group), bounded(q.Resource), bounded(q.Subresource)}
}

// countEnded adds a request that has ended to the counts. Requests often come several times in a row,
// and to look up six texts in a map takes longer than to compare them.
func (r *Recorder) countEnded(e *Entry) {
	if by := countedBy(&e.is); r.latest == nil || by != r.counted {
		r.latest, r.counted = countsOf(r.counts, by)
	}
	r.latest.count(&e.is, e.before)
}

// countsOf returns the counts of what a request is counted by, and the key under which they are.
func countsOf(in map[Counted]*Counts, by Counted) (*Counts, Counted) {
	if c := in[by]; c != nil {
		return c, by
	}
	if len(in) >= MaxCounted {
		by = Counted{} // all others
	}
	c := in[by]
	if c == nil {
		c = &Counts{}
		// Of a path that may be long.
		by.Verb, by.Group, by.Resource, by.Subresource = strings.Clone(by.Verb), strings.Clone(by.Group), strings.Clone(by.Resource), strings.Clone(by.Subresource)
		in[by] = c
	}
	return c, by
}

// countsUntil returns what of a request that runs has been counted before its end.
func countsUntil(q *Request) Counts {
	return Counts{Revisions: q.Revisions, Events: q.Events, Received: q.Received, Sent: q.Sent}
}

// count adds a request, without what it has done before.
func (c *Counts) count(q *Request, before Counts) {
	c.Requests++
	if q.Code >= 400 {
		c.Failures++
		if q.Reason == "Conflict" {
			c.Conflicts++
		}
	}
	if q.Repeats {
		c.Repeats++
	}
	c.Revisions += q.Revisions - before.Revisions
	c.Events += q.Events - before.Events
	c.Received += q.Received - before.Received
	c.Sent += q.Sent - before.Sent
}

// Stats returns the counts of all requests until now, also of those that are not remembered any
// more and of those that run.
func (r *Recorder) Stats() map[Counted]Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[Counted]*Counts, len(r.counts))
	for by, c := range r.counts {
		own := *c
		all[by] = &own
	}
	for e := r.running; e != nil; e = e.next {
		if e.forgotten {
			continue
		}
		c, _ := countsOf(all, countedBy(&e.is))
		c.count(&e.is, e.before)
	}
	out := make(map[Counted]Counts, len(all))
	for by, c := range maps.All(all) {
		out[by] = *c
	}
	return out
}
