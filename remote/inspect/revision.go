// Code generated from inspect/revision.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/remote/internal/printable"
)

// History is the states of an object, the oldest first.
type History []Revision

// String shows all revisions, each on a line, with its changes below it.
func (h History) String() string {
	var b strings.Builder
	for _, r := range h {
		b.WriteString(r.String() + "\n")
	}
	return b.String()
}

// Revision is one state of an object, and the request that made it.
type Revision struct {
	// Revision is the resourceVersion of the object in this state.
	Revision int64 `json:"revision"`
	// Event is the type of the event that watches got: Added, Modified or Deleted. It is empty if the state
	// is older than the history.
	Event string `json:"event,omitempty"`

	// Time, User, UserAgent, AuditID, Verb, Patch and Subresource are those of the [Request] that made the
	// revision. Number is its number; 0 if Cluster.Requests does not have it: the options of the cluster
	// made it, or the cluster that this one was forked from. All are zero for objects that the cluster has
	// from its start, from a snapshot or from a data file.
	Time        time.Time `json:"time"`
	User        string    `json:"user,omitempty"`
	UserAgent   string    `json:"userAgent,omitempty"`
	AuditID     string    `json:"auditID,omitempty"`
	Verb        string    `json:"verb,omitempty"`
	Patch       string    `json:"patch,omitempty"`
	Subresource string    `json:"subresource,omitempty"`
	Number      int64     `json:"number,omitempty"`

	// Object is the object in this state.
	Object map[string]any `json:"object"`
	// Changes are the differences from the previous state. There are none for a new object.
	Changes []FieldChange `json:"changes,omitempty"`
}

// Client names the client that made the revision, see [ClientName]. It is empty if the cluster does not have
// the request.
func (r Revision) Client() string { return ClientName(r.User, r.UserAgent) }

// String shows the revision, with its changes on lines of their own:
//
//	revision 14: website-operator apply status
//		status.ready: false → true
func (r Revision) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "revision %d:", r.Revision)
	switch {
	case r.Verb != "":
		fmt.Fprintf(&b, " %s %s", r.Client(), verbOf(r.Verb, r.Patch))
		if r.Subresource != "" {
			b.WriteString(" " + r.Subresource)
		}
	case r.Event == "":
		b.WriteString(" it existed before the history")
	default:
		b.WriteString(" " + strings.ToLower(string(r.Event)))
	}
	if r.Event == "DELETED" {
		b.WriteString(", gone")
	}
	for _, change := range r.Changes {
		b.WriteString("\n\t" + change.String())
	}
	return printable.Text(b.String())
}
