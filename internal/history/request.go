package history

import (
	"cmp"
	"strings"
	"time"
)

// Request is what is known of one request.
type Request struct {
	Number int64 // the first request of a Recorder has number 1
	Cause  int64 // the number of the request that made a controller of the server act; 0: a client sent it
	Time   time.Time

	User, UserAgent string

	// Verb, Group, Version, Resource, Subresource, Namespace and Name are in the words of RBAC.
	// Patch says how a patch is meant: apply, json, merge or strategic.
	Verb, Patch                           string
	Group, Version, Resource, Subresource string
	Namespace, Name                       string
	Path, Options                         string // the path of the URL, and its query

	Code            int // of the answer; 0: there is none yet
	Reason, Message string
	Latency         time.Duration // until the answer began; of a watch, until it ended
	Running         bool

	// Revision is the newest revision that the request has made itself, and Revisions their
	// number. Repeats says that a write has found the object as it was to be, and made none.
	Revision, Revisions int64
	Repeats             bool
	Received, Sent      int64 // bytes of the bodies
	Events              int64 // that a watch has delivered, without bookmarks

	Webhooks []Call

	// Warnings are those of the answer, each once.
	Warnings []string
	// DropsStatus says that a write carried a status, which its kind takes at the subresource alone.
	DropsStatus bool
	// Read and Found are of a write that another one came before: the revision that the client has
	// read, and that of the object then. 0: of no such write.
	Read, Found int64

	Fault string // that has struck the request

	// Held is how many bytes the path and its parts keep in memory, if they are parts of a longer
	// text, such as the first line of a request.
	Held int
}

// Call is a call of an admission webhook for a request.
type Call struct {
	Webhook, Configuration string
	Outcome                string // allowed, changed, refused or failed
	Message                string
	Latency                time.Duration
}

// Hook names an admission webhook.
type Hook struct{ Configuration, Webhook string }

// Client is who sends a request, in one word: the name of the program, as the user agent begins.
func (q *Request) Client() string { return ClientOf(q.User, q.UserAgent) }

// ClientOf is the name of the program in a user agent; without one, the user. A controller of
// kube-controller-manager has the name of its service account.
func ClientOf(user, userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "/")
	name = strings.TrimSpace(name)
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:kube-system:"); name == "" || ok && name == "kube-controller-manager" {
		return cmp.Or(account, user)
	}
	return name
}

// texts is how many bytes of text a request holds.
func (q *Request) texts() int {
	n := max(len(q.Path)+len(q.Options), q.Held) + len(q.Message) + len(q.Fault)
	for _, c := range q.Webhooks {
		n += len(c.Message)
	}
	for _, text := range q.Warnings {
		n += len(text)
	}
	return n
}
