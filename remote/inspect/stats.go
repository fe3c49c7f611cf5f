// Code generated from inspect/stats.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/remote/internal/printable"
)

// Stats counts requests by client, verb and resource.
type Stats map[Counted]Counts

// Counted is the key by which [Stats] counts requests. Verb, Group, Resource and Subresource are as
// in a [Request].
type Counted struct {
	User        string `json:"user,omitempty"`
	UserAgent   string `json:"userAgent,omitempty"`
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
}

// Client names the client that sent the requests, see [ClientName].
func (c Counted) Client() string { return ClientName(c.User, c.UserAgent) }

// Counts are the number of requests, and of their outcomes.
type Counts struct {
	Requests  int64 `json:"requests"`
	Failures  int64 `json:"failures,omitempty"`  // answers with a code of 400 or more
	Conflicts int64 `json:"conflicts,omitempty"` // answers with code 409 and the reason Conflict
	Repeats   int64 `json:"repeats,omitempty"`   // writes that would have changed nothing, and were not stored
	Revisions int64 `json:"revisions,omitempty"`
	Events    int64 `json:"events,omitempty"`   // events that watches have delivered, without bookmarks
	Received  int64 `json:"received,omitempty"` // bytes of the bodies of requests
	Sent      int64 `json:"sent,omitempty"`     // bytes of the bodies of answers
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

// Total returns the sum of the counts for which keep returns true; of all if keep is nil.
func (s Stats) Total(keep func(Counted) bool) (total Counts) {
	for counted, counts := range s {
		if keep == nil || keep(counted) {
			total.Add(counts)
		}
	}
	return total
}

// Since returns the difference to earlier Stats of the same cluster.
func (s Stats) Since(former Stats) Stats {
	since := Stats{}
	for counted, c := range s {
		f := former[counted]
		c = Counts{
			c.Requests - f.Requests, c.Failures - f.Failures, c.Conflicts - f.Conflicts, c.Repeats - f.Repeats, c.Revisions - f.Revisions,
			c.Events - f.Events, c.Received - f.Received, c.Sent - f.Sent,
		}
		if c != (Counts{}) {
			since[counted] = c
		}
	}
	return since
}

// String returns a line for each client, verb and resource, in alphabetical order.
func (s Stats) String() string {
	var lines []string
	for counted, c := range s {
		what := "other paths"
		if counted.Resource != "" {
			what = ObjectName(counted.Group, counted.Resource, counted.Subresource, "", "")
		}
		line := fmt.Sprintf("%s %s %s: %d", counted.Client(), counted.Verb, what, c.Requests)
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
	return printable.Text(strings.Join(lines, ""))
}
