// Code generated from inspect/request.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package inspect

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/remote/internal/printable"
)

// Request is one request to a cluster.
type Request struct {
	// Number counts the requests of the cluster, from 1.
	Number int64 `json:"number"`
	// Cause is the Number of the request because of which one of the cluster's own controllers sent this one;
	// 0: a client sent it.
	Cause int64 `json:"cause,omitempty"`
	// Time is when the request arrived, by the clock of the cluster.
	Time time.Time `json:"time"`

	// User is the user who sent the request; empty: the user was not authenticated. UserAgent is
	// the header of that name.
	User      string `json:"user,omitempty"`
	UserAgent string `json:"userAgent,omitempty"`
	// AuditID is the header Audit-ID, with which a client names a request; empty: the client sent none.
	AuditID string `json:"auditID,omitempty"`

	// Verb is a verb of RBAC: get, list, watch, create, update, patch, delete or
	// deletecollection. For a request that is not for a resource it is the method in lower case.
	Verb string `json:"verb"`
	// Patch is the type of a patch: apply, json, merge or strategic; empty for other verbs.
	Patch string `json:"patch,omitempty"`
	// Group, Version, Resource and Subresource identify the resource; all are empty for a request that is not
	// for a resource. Namespace and Name are empty if the request does not have them.
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name,omitempty"`
	// Path and Options are the path of the URL and its query. Both are empty for a request of
	// one of the cluster's own controllers.
	Path    string `json:"path,omitempty"`
	Options string `json:"options,omitempty"`

	// Code is the HTTP status of the answer, and Reason and Message are those of its Status if
	// it is a failure. Code is 0 until there is an answer.
	Code    int    `json:"code,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Latency is the time until the answer began; for a watch, until it ended. It is measured by
	// the clock of the process, or of the testing/synctest bubble.
	Latency time.Duration `json:"latencyNanoseconds,omitempty"`
	// Running is true until there is an answer; for a watch, until it ends.
	Running bool `json:"running,omitempty"`

	// Revision is the newest revision that the request itself made, and Revisions their
	// number. They are 0 if it has written nothing.
	Revision  int64 `json:"revision,omitempty"`
	Revisions int64 `json:"revisions,omitempty"`
	// Repeats is true for a write that would have changed nothing, and so was not stored.
	Repeats bool `json:"repeats,omitempty"`
	// Read and Found are set for a write that was rejected because another write came first. Read is the
	// resourceVersion that the client sent, Found that of the object. 0: any other request.
	Read  int64 `json:"read,omitempty"`
	Found int64 `json:"found,omitempty"`
	// Received and Sent are the bytes of the bodies of the request and of the answer.
	Received int64 `json:"received,omitempty"`
	Sent     int64 `json:"sent,omitempty"`
	// Events is how many events a watch has delivered, not counting bookmarks.
	Events int64 `json:"events,omitempty"`
	// Webhooks are the calls of admission webhooks for the request, in the order in which the calls ended.
	Webhooks []WebhookCall `json:"webhooks,omitempty"`
	// Warnings are those of the answer, such as that a field is unknown and was dropped.
	Warnings []string `json:"warnings,omitempty"`
	// DropsStatus is true if the write contained a status that was not stored, because only the subresource
	// status sets it. It is recorded for creates, and for updates that change nothing else.
	DropsStatus bool `json:"dropsStatus,omitempty"`
	// Fault lists the effects of injected faults that struck the request, separated by commas, each once;
	// empty: none did. It does not include FailConversion, because upstream's converter does not get
	// the request for which it converts an object.
	Fault string `json:"fault,omitempty"`
}

// WebhookCall is a call of an admission webhook.
type WebhookCall struct {
	Webhook       string `json:"webhook"`       // its name, such as validate.example.com
	Configuration string `json:"configuration"` // the name of the webhook configuration
	// Outcome is Allowed, Changed, Denied or Failed. A call has failed if there is no usable
	// answer; then the failurePolicy of the webhook decides about the request.
	Outcome string        `json:"outcome"`
	Message string        `json:"message,omitempty"`            // of a refusal or a failure
	Latency time.Duration `json:"latencyNanoseconds,omitempty"` // by the clock of the process, or of the bubble
}

// Client names the sender of the request in one word, see [ClientName].
func (r Request) Client() string { return ClientName(r.User, r.UserAgent) }

// ClientName names a client in one word: the program, which is the user agent up to the first slash. A
// controller of kube-controller-manager has the name of its service account. Without a user agent the name is
// that of the user.
func ClientName(user, userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "/")
	name = strings.TrimSpace(name)
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:kube-system:"); name == "" || ok && name == "kube-controller-manager" {
		return cmp.Or(account, user)
	}
	return name
}

// Object names the object or the resource of the request, see [ObjectName]. For a request that is not for a
// resource it returns the path.
func (r Request) Object() string {
	if r.Resource == "" {
		return r.Path
	}
	return ObjectName(r.Group, r.Resource, r.Subresource, r.Namespace, r.Name)
}

// ObjectName names an object as kubectl does, such as websites.example.com/status default/blog.
// Without a name it is the resource, with the namespace if there is one: pods in default.
func ObjectName(group, resource, subresource, namespace, name string) string {
	var b strings.Builder
	b.WriteString(resource)
	if group != "" {
		b.WriteString("." + group)
	}
	if subresource != "" {
		b.WriteString("/" + subresource)
	}
	switch {
	case namespace != "" && name != "" && resource != "namespaces":
		b.WriteString(" " + namespace + "/" + name)
	case name != "":
		b.WriteString(" " + name)
	case namespace != "":
		b.WriteString(" in " + namespace)
	}
	return b.String()
}

// verbOf returns the verb of a request, and apply for a patch of that type.
func verbOf(verb, patch string) string {
	if patch == "apply" {
		return patch
	}
	return verb
}

// String shows the request on one line, without times:
//
//	website-operator update websites.example.com/status default/blog: 409 Conflict: Operation cannot …
func (r Request) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s: ", r.Client(), verbOf(r.Verb, r.Patch), r.Object())
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
		b.WriteString(", " + printable.Count(r.Events, "event"))
		if r.Running {
			b.WriteString(", still open")
		}
	}
	if r.Fault != "" {
		fmt.Fprintf(&b, " (fault: %s)", r.Fault)
	}
	return printable.Text(b.String())
}
