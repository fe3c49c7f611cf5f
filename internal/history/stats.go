package history

import (
	"maps"
	"strings"

	"github.com/fakecluster/fakecluster/inspect"
)

// countedBy returns the key under which a request is counted.
func countedBy(q *inspect.Request) inspect.Counted {
	return inspect.Counted{
		User: q.User, UserAgent: q.UserAgent, Verb: bounded(q.Verb),
		Group: bounded(q.Group), Resource: bounded(q.Resource), Subresource: bounded(q.Subresource),
	}
}

// countEnded adds an ended request to the counts. It first compares the key with that of the previous request, which is
// often the same: a map lookup of six texts takes longer.
func (r *Recorder) countEnded(e *Entry) {
	if by := countedBy(&e.request); r.latest == nil || by != r.counted {
		r.latest, r.counted = countsOf(r.counts, by)
	}
	count(r.latest, &e.request, e.before)
}

// countsOf returns the counts of a key, and the key under which they are stored.
func countsOf(in map[inspect.Counted]*inspect.Counts, by inspect.Counted) (*inspect.Counts, inspect.Counted) {
	if c := in[by]; c != nil {
		return c, by
	}
	if len(in) >= MaxCounted {
		by = inspect.Counted{} // all others
	}
	c := in[by]
	if c == nil {
		c = &inspect.Counts{}
		// The texts may be parts of a long path.
		by.Verb, by.Group, by.Resource, by.Subresource = strings.Clone(by.Verb), strings.Clone(by.Group), strings.Clone(by.Resource), strings.Clone(by.Subresource)
		in[by] = c
	}
	return c, by
}

// countsUntil returns the counts of a running request so far.
func countsUntil(q *inspect.Request) inspect.Counts {
	return inspect.Counts{Revisions: q.Revisions, Events: q.Events, Received: q.Received, Sent: q.Sent}
}

// count adds a request to counts, without its counts before.
func count(c *inspect.Counts, q *inspect.Request, before inspect.Counts) {
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

// Stats returns the counts of all requests so far, including those that are no longer recorded and those in flight.
func (r *Recorder) Stats() inspect.Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := make(map[inspect.Counted]*inspect.Counts, len(r.counts))
	for by, c := range r.counts {
		own := *c
		counts[by] = &own
	}
	for e := r.running; e != nil; e = e.next {
		if e.forgotten {
			continue
		}
		c, _ := countsOf(counts, countedBy(&e.request))
		count(c, &e.request, e.before)
	}
	out := make(inspect.Stats, len(counts))
	for by, c := range maps.All(counts) {
		out[by] = *c
	}
	return out
}
