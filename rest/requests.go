package rest

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/findings"
	"github.com/fakecluster/fakecluster/internal/history"
)

// Request is one request to a cluster, as [Server.Requests] tells of it.
type Request struct {
	// Number counts the requests of the cluster, from 1.
	Number int64
	// Cause is the number of the request that made one of the cluster's own controllers send
	// this one; 0: a client has sent it.
	Cause int64
	// Time is when the request came, by the clock of the cluster (Options.Now).
	Time time.Time

	// User is who has sent the request; empty: it is not known. UserAgent is what the program calls
	// itself.
	User, UserAgent string

	// Verb is in the words of RBAC: get, list, watch, create, update, patch, delete or
	// deletecollection. For a request for no resource it is the method in lower case.
	Verb string
	// Patch says how a patch is meant: apply, json, merge or strategic; empty for other verbs.
	Patch string
	// Group, Version, Resource and Subresource say what the verb is for. Namespace and Name are
	// empty where the request names none.
	Group, Version, Resource, Subresource string
	Namespace, Name                       string
	// Path and Options are the path of the URL and its query. Both are empty for a request of
	// one of the cluster's own controllers.
	Path, Options string

	// Code is the HTTP status of the answer, and Reason and Message what its Status says of a
	// failure. Code is 0 as long as there is no answer.
	Code    int
	Reason  metav1.StatusReason
	Message string
	// Latency is the time until the answer began; for a watch, until it ended. It goes by the
	// time of the process, or of the testing/synctest bubble.
	Latency time.Duration
	// Running says that there is no answer yet, or that a watch goes on.
	Running bool

	// Revision is the newest revision that the request itself has made, and Revisions their
	// number. They are 0 if it has written nothing.
	Revision, Revisions int64
	// Repeats says that a write would have changed nothing, and so was not stored.
	Repeats bool
	// Received and Sent are the bytes of the bodies of the request and of the answer.
	Received, Sent int64
	// Events is how many events a watch has delivered, not counting bookmarks.
	Events int64
	// Webhooks are the calls of admission webhooks for the request, in the order in which they
	// ended.
	Webhooks []WebhookCall
	// Warnings are those of the answer, such as that a field is unknown and has been dropped.
	Warnings []string
	// DropsStatus says that the write carried a status that was not kept, because its kind takes it at the
	// subresource status alone. It is told of creates, and of updates that change nothing otherwise.
	DropsStatus bool
	// Fault is what faults on purpose have done to the request; empty: nothing. Commas separate several
	// faults, and each is named once. A failed conversion is not among them, because upstream's converter
	// does not know for which request it converts an object.
	Fault string
}

// WebhookCall is a call of an admission webhook.
type WebhookCall struct {
	Webhook       string // its name, such as validate.example.com
	Configuration string // the name of the configuration that it stands in
	// Outcome is allowed, changed, refused or failed. A call has failed if there is no answer to
	// the question; the failurePolicy of the webhook says what becomes of the request.
	Outcome string
	Message string        // of a refusal or a failure
	Latency time.Duration // by the time of the process, or of the bubble
}

// Client names who has sent the request in one word: the program, as the user agent begins. A
// controller of kube-controller-manager has the name of its service account. Without a user agent
// it is the user.
func (r Request) Client() string { return history.ClientOf(r.User, r.UserAgent) }

// Object names what the request is for, such as websites.example.com/status default/blog.
func (r Request) Object() string {
	if r.Resource == "" {
		return r.Path
	}
	return findings.ObjectName(r.Group, r.Resource, r.Subresource, r.Namespace, r.Name)
}

// verb is what the request does, in one word.
func (r Request) verb() string {
	if r.Patch == "apply" {
		return "apply"
	}
	return r.Verb
}

// String shows the request on one line, without times:
//
//	website-operator update websites.example.com/status default/blog: 409 Conflict: Operation cannot …
func (r Request) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s: ", r.Client(), r.verb(), r.Object())
	switch {
	case r.Code == 0:
		b.WriteString("no answer")
	case r.Reason != "":
		fmt.Fprintf(&b, "%d %s: %s", r.Code, r.Reason, r.Message)
	default:
		fmt.Fprint(&b, r.Code)
	}
	switch {
	case r.Revisions > 1:
		fmt.Fprintf(&b, ", %d revisions up to %d", r.Revisions, r.Revision)
	case r.Revision != 0:
		fmt.Fprintf(&b, ", revision %d", r.Revision)
	case r.Repeats:
		b.WriteString(", nothing changed")
	case r.Verb == "watch" && r.Code == 200:
		fmt.Fprintf(&b, ", %d events", r.Events)
		if r.Running {
			b.WriteString(", goes on")
		}
	}
	if r.Fault != "" {
		fmt.Fprintf(&b, " (fault: %s)", r.Fault)
	}
	return b.String()
}

// Requests returns the newest requests to the server, in the order in which they came: up to
// 10,000, and fewer if their paths, queries and messages take more than 8 MiB. The writes of the
// server's own controllers are among them and name their Cause. A client that has an answer finds
// the Code of its request here.
func (s *Server) Requests() []Request {
	known := s.history.Requests()
	requests := make([]Request, len(known))
	for i, q := range known {
		requests[i] = requestOf(q)
	}
	return requests
}

// ForgetRequests forgets the requests that have ended, but not who has made which revision. Those that
// run are kept, and Stats counts what they do from now on. The numbers of requests go on.
func (s *Server) ForgetRequests() { s.history.Forget() }

// RestartRequests forgets all requests, and numbers those that come from 1. It is for a server that
// has been prepared and has no clients yet.
func (s *Server) RestartRequests() { s.history.Restart() }

func requestOf(q history.Request) Request {
	r := Request{
		Number: q.Number, Cause: q.Cause, Time: q.Time, User: q.User, UserAgent: q.UserAgent, Verb: q.Verb, Patch: q.Patch,
		Group: q.Group, Version: q.Version, Resource: q.Resource, Subresource: q.Subresource, Namespace: q.Namespace, Name: q.Name,
		Path: q.Path, Options: q.Options, Code: q.Code, Reason: metav1.StatusReason(q.Reason), Message: q.Message,
		Latency: q.Latency, Running: q.Running, Revision: q.Revision, Revisions: q.Revisions, Repeats: q.Repeats,
		Received: q.Received, Sent: q.Sent, Events: q.Events, Fault: q.Fault, Warnings: q.Warnings, DropsStatus: q.DropsStatus,
	}
	for _, call := range q.Webhooks {
		r.Webhooks = append(r.Webhooks, WebhookCall(call))
	}
	return r
}
