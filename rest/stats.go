package rest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/internal/findings"
	"github.com/fakecluster/fakecluster/internal/history"
)

// Counted is what requests are counted by. Verb, Group, Resource and Subresource are as in a
// Request.
type Counted struct {
	User, UserAgent, Verb        string
	Group, Resource, Subresource string
}

// Client names who has sent the requests, as [Request.Client] does.
func (c Counted) Client() string { return history.ClientOf(c.User, c.UserAgent) }

// Counts are how many requests there were, and what became of them.
type Counts struct {
	Requests       int64
	Failures       int64 // answers with a code of 400 or more
	Conflicts      int64 // answers with code 409 and the reason Conflict
	Repeats        int64 // writes that would have changed nothing, and were not stored
	Revisions      int64
	Events         int64 // that watches have delivered
	Received, Sent int64 // bytes of the bodies of requests and of answers
}

// Stats are the counts of requests, by who has asked for what.
type Stats map[Counted]Counts

// Stats returns the counts of all requests since the server began or last forgot, also of those
// that Requests does not have any more, and of those that run. Beyond 10,000 different ones all
// further ones count as one.
func (s *Server) Stats() Stats {
	stats := Stats{}
	for of, counts := range s.history.Stats() {
		stats[Counted(of)] = Counts(counts)
	}
	return stats
}

// Total adds up the counts of which keep says true; all if keep is nil.
func (s Stats) Total(keep func(Counted) bool) (total Counts) {
	sum := history.Counts{}
	for of, counts := range s {
		if keep == nil || keep(of) {
			sum.Add(history.Counts(counts))
		}
	}
	return Counts(sum)
}

// Since returns what has come since former Stats of the same cluster.
func (s Stats) Since(former Stats) Stats {
	since := Stats{}
	for of, c := range s {
		f := former[of]
		c = Counts{
			c.Requests - f.Requests, c.Failures - f.Failures, c.Conflicts - f.Conflicts, c.Repeats - f.Repeats, c.Revisions - f.Revisions,
			c.Events - f.Events, c.Received - f.Received, c.Sent - f.Sent,
		}
		if c != (Counts{}) {
			since[of] = c
		}
	}
	return since
}

// String is a line for each client, verb and resource, in this order.
func (s Stats) String() string {
	var lines []string
	for of, c := range maps.All(s) {
		what := "other paths"
		if of.Resource != "" {
			what = findings.ObjectName(of.Group, of.Resource, of.Subresource, "", "")
		}
		line := fmt.Sprintf("%s %s %s: %d", of.Client(), of.Verb, what, c.Requests)
		for _, part := range []struct {
			name string
			n    int64
		}{{"failures", c.Failures}, {"conflicts", c.Conflicts}, {"changed nothing", c.Repeats}, {"revisions", c.Revisions}, {"events", c.Events}} {
			if part.n > 0 {
				line += fmt.Sprintf(", %s %d", part.name, part.n)
			}
		}
		lines = append(lines, line+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
