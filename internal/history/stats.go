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

// count adds a request to counts.
func (r *Recorder) count(to map[Counted]*Counts, q *Request) {
	by := Counted{q.User, q.UserAgent, bounded(q.Verb), bounded(q.Group), bounded(q.Resource), bounded(q.Subresource)}
	c := to[by]
	if c == nil {
		if len(to) >= MaxCounted {
			by = Counted{} // all others
		}
		if c = to[by]; c == nil {
			c = &Counts{}
			// Of a path that may be long.
			by.Verb, by.Group, by.Resource, by.Subresource = strings.Clone(by.Verb), strings.Clone(by.Group), strings.Clone(by.Resource), strings.Clone(by.Subresource)
			to[by] = c
		}
	}
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
	c.Revisions += q.Revisions
	c.Events += q.Events
	c.Received += q.Received
	c.Sent += q.Sent
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
		r.count(all, &e.is)
	}
	out := make(map[Counted]Counts, len(all))
	for by, c := range maps.All(all) {
		out[by] = *c
	}
	return out
}
