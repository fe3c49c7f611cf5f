// Package inspect has the types by which a cluster of package remote reports what happened in it, and why, with the names of package
// inspect of fakecluster.
package inspect

import (
	"encoding/json"
	"strings"
	"time"
)

// Request is one request to a cluster.
type Request struct {
	// Number counts the requests of the cluster, from 1. Cause is the number of the request that made one of the cluster's own
	// controllers send this one; 0: a client sent it.
	Number, Cause int64
	Time          time.Time

	// User is the user who sent the request, and UserAgent the header of that name.
	User, UserAgent string
	// Verb is a verb of RBAC, and Patch the type of a patch. For a request that is not for a resource the verb is the method.
	Verb, Patch string
	// What the verb is for.
	Group, Version, Resource, Subresource string
	Namespace, Name                       string
	Path, Options                         string

	// Code is the HTTP status of the answer, and Reason and Message are those of its Status if it is a failure.
	Code            int
	Reason, Message string
	// Latency is the time until the answer began; for a watch, until it ended.
	Latency time.Duration `json:"latencyNanoseconds"`
	// Running is true until there is an answer, and as long as a watch goes on.
	Running bool

	// Revision is the newest revision that the request itself made, and Revisions their number.
	Revision, Revisions int64
	// Repeats is true if a write would have changed nothing.
	Repeats bool
	// Read and Found are of a write that was refused because another one came first.
	Read, Found int64
	// Received and Sent are the bytes of the bodies.
	Received, Sent int64
	// Events is how many events a watch has delivered.
	Events   int64
	Webhooks []WebhookCall
	Warnings []string
	// DropsStatus is true if the write carried a status that was not stored.
	DropsStatus bool
	// Fault is what faults on purpose did to the request.
	Fault string

	// ClientName, ObjectName and Text are what Client, Object and String return.
	ClientName string `json:"client"`
	ObjectName string `json:"object"`
	Text       string `json:"text"`
}

// Client names the sender of the request in one word.
func (r Request) Client() string { return r.ClientName }

// Object names what the request is for.
func (r Request) Object() string { return r.ObjectName }

// String shows the request on one line.
func (r Request) String() string { return r.Text }

// WebhookCall is a call of an admission webhook.
type WebhookCall struct {
	Webhook, Configuration string
	Outcome, Message       string
	Latency                time.Duration `json:"latencyNanoseconds"`
}

// History is the states of an object, the oldest first.
type History []Revision

// String shows all revisions, each on a line, with its changes below it.
func (h History) String() string {
	var b strings.Builder
	for _, r := range h {
		b.WriteString(r.Text + "\n")
	}
	return b.String()
}

// Revision is one state of an object, and the request that made it.
type Revision struct {
	// Revision is the resourceVersion of the object in this state, and Event the type of the event that watches got.
	Revision int64
	Event    string

	// Those of the request that made the revision.
	Time                     time.Time
	User, UserAgent          string
	Verb, Patch, Subresource string
	Number                   int64

	// Object is the object in this state, and Changes are the differences to the state before.
	Object  map[string]any
	Changes []FieldChange

	// ClientName and Text are what Client and String return.
	ClientName string `json:"client"`
	Text       string `json:"text"`
}

// Client names the client that made the revision.
func (r Revision) Client() string { return r.ClientName }

// String shows the revision, with its changes on lines of their own.
func (r Revision) String() string { return r.Text }

// FieldChange is one difference between two states of an object.
type FieldChange struct {
	Path                 string
	Was, Is              any
	OwnersBefore, Owners []string
}

// Stats counts requests by client, verb and resource.
type Stats struct {
	Counts []Counted
	Text   string
}

// String has a line for each client, verb and resource.
func (s Stats) String() string { return s.Text }

// Total adds up the counts for which keep returns true; all if keep is nil.
func (s Stats) Total(keep func(Counted) bool) (total Counts) {
	for _, c := range s.Counts {
		if keep == nil || keep(c) {
			total.Requests += c.Requests
			total.Failures += c.Failures
			total.Conflicts += c.Conflicts
			total.Repeats += c.Repeats
			total.Revisions += c.Revisions
			total.Events += c.Events
			total.Received += c.Received
			total.Sent += c.Sent
		}
	}
	return total
}

// Counted is what requests are counted by, and their counts.
type Counted struct {
	Client, User, UserAgent, Verb string
	Group, Resource, Subresource  string
	Counts
}

// Counts are the number of requests, and of their outcomes.
type Counts struct {
	Requests, Failures, Conflicts, Repeats, Revisions, Events, Received, Sent int64
}

// Findings are what may be the reason why a test failed.
type Findings struct {
	Summary  string
	Sections []Finding
	Text     string
}

// String returns the findings as at most 60 lines of text. It is empty if there are none.
func (f Findings) String() string { return f.Text }

// Finding is one sort of trouble.
type Finding struct {
	Title string
	Lines []string
	More  int
}

// AccessRequest is what one or more requests of a user were for, as RBAC sees them.
type AccessRequest struct {
	Verb, Group, Resource, Subresource, Namespace, Name, Path string
	Allowed                                                   bool
}

// Explanation says what a server made of one write, and who had a say in it.
type Explanation struct {
	Answer Answer
	// Pruned are the fields that were sent and are not in the schema, and Defaulted those that were not sent and have a default.
	Pruned, Defaulted []FieldValue
	// Refused is what is wrong with the object, field by field.
	Refused []FieldError
	// Conflicts are the fields that an apply may not change, because others own them.
	Conflicts []FieldConflict
	// Admission has the plugins, policies, webhooks and functions that had a say, in their order.
	Admission []AdmissionStep
	// Changes is what the write changes of the object, if it was not refused. Unchanged says that it changes nothing.
	Changes   []FieldChange
	Unchanged bool
	Warnings  []string
	// Text is what String returns. Data is the whole explanation, as docs/host.openapi.json describes it.
	Text string
	Data json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the whole explanation, too.
func (e *Explanation) UnmarshalJSON(data []byte) error {
	type plain Explanation
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	e.Data = append(json.RawMessage{}, data...)
	return nil
}

// String says it in lines for a reader.
func (e Explanation) String() string { return e.Text }

// Answer is the answer to an explained write.
type Answer struct {
	Code            int
	Reason, Message string
}

// FieldValue is the value of a field.
type FieldValue struct {
	Path  string
	Value any
}

// FieldError is what is wrong with a field.
type FieldError struct{ Path, Type, Message, Rule string }

// FieldConflict is a field that an apply may not change without force.
type FieldConflict struct{ Path, Manager, Owner string }

// AdmissionStep is a plugin, policy, webhook or function that had a say.
type AdmissionStep struct{ Kind, Name, Outcome, Message string }
