// Package faults describes what goes wrong on purpose in a cluster of package remote, with the names of package faults of fakecluster:
// requests that fail, wait or are cut off, watches that break or lag, stale reads, refusals of admission. docs/faults.md describes
// the effects.
package faults

import (
	"encoding/json"
	"fmt"
	"time"
)

// AnySubresource is the Subresource of a Fault that strikes objects and all their subresources.
const AnySubresource = "*"

// Fault is something that goes wrong with requests of clients: which requests, how often, and what happens to them.
type Fault struct {
	// Verb is a verb of RBAC; empty: every verb that the effect can strike.
	Verb string
	// Resource is the plural name, with the group after a dot: "pods", "deployments.apps". Empty: every resource.
	Resource string
	// Subresource is a subresource, such as "status". Empty means the object itself; AnySubresource means both.
	Subresource string
	// Namespace, Name and User are those of the request; empty: any.
	Namespace, Name, User string
	// UserAgent is a prefix of the user agent of the client; empty: any.
	UserAgent string

	// After is how many requests that match are left alone first.
	After int
	// Times is how many requests are struck at most; 0: all, until Stop.
	Times int
	// Probability is the probability with which a request that matches is struck; 0: 1.
	Probability float64
	// Optional allows the fault not to strike. Any other fault that has struck nothing fails the test.
	Optional bool

	// Latency is how long a request waits before anything else happens to it.
	Latency time.Duration
	// Effect is what happens to the request then. The zero value: it goes on, only later.
	Effect Effect
}

// MarshalJSON writes the fault as the control API has it.
func (f Fault) MarshalJSON() ([]byte, error) {
	effect, err := f.Effect.data()
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Verb        string         `json:"verb,omitempty"`
		Resource    string         `json:"resource,omitempty"`
		Subresource string         `json:"subresource,omitempty"`
		Namespace   string         `json:"namespace,omitempty"`
		Name        string         `json:"name,omitempty"`
		User        string         `json:"user,omitempty"`
		UserAgent   string         `json:"userAgent,omitempty"`
		After       int            `json:"after,omitempty"`
		Times       int            `json:"times,omitempty"`
		Probability float64        `json:"probability,omitempty"`
		Optional    bool           `json:"optional,omitempty"`
		Latency     string         `json:"latency,omitempty"`
		Effect      map[string]any `json:"effect,omitempty"`
	}{f.Verb, f.Resource, f.Subresource, f.Namespace, f.Name, f.User, f.UserAgent, f.After, f.Times, f.Probability, f.Optional, text(f.Latency), effect})
}

// text returns a duration as the control API has it.
func text(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// Effect is what a Fault does to a request. The functions of this package make effects.
type Effect struct {
	Type     string
	Err      error         // of Fail
	Message  string        // of InternalError and RefuseAdmission
	Duration time.Duration // of TooManyRequests and DelayWatch
	Count    int           // of StaleRead and DropWatch
	Webhook  string        // of FailWebhook
}

func (e Effect) data() (map[string]any, error) {
	if e.Type == "" {
		return nil, nil
	}
	data := map[string]any{"type": e.Type}
	if e.Err != nil {
		status, err := statusOf(e.Err)
		if err != nil {
			return nil, err
		}
		data["status"] = status
	}
	if e.Message != "" {
		data["message"] = e.Message
	}
	if e.Duration != 0 {
		data["duration"] = e.Duration.String()
	}
	if e.Count != 0 {
		data["count"] = e.Count
	}
	if e.Webhook != "" {
		data["webhook"] = e.Webhook
	}
	return data, nil
}

// statusOf returns the Status of an error of k8s.io/apimachinery/pkg/api/errors, which has it in its field ErrStatus.
func statusOf(err error) (json.RawMessage, error) {
	var answer struct{ ErrStatus json.RawMessage }
	if text, failed := json.Marshal(err); failed != nil || json.Unmarshal(text, &answer) != nil || answer.ErrStatus == nil {
		return nil, fmt.Errorf("Fail: the error has no Status; make it with k8s.io/apimachinery/pkg/api/errors: %v", err)
	}
	return answer.ErrStatus, nil
}

// Fail answers with the Status of an error of k8s.io/apimachinery/pkg/api/errors. Nothing is read or written.
func Fail(err error) Effect { return Effect{Type: "Fail", Err: err} }

// Conflict answers a write with 409, as if another write had come first.
func Conflict() Effect { return Effect{Type: "Conflict"} }

// TooManyRequests answers with 429. The time, in whole seconds, becomes the header Retry-After; 0: no such header.
func TooManyRequests(retryAfter time.Duration) Effect {
	return Effect{Type: "TooManyRequests", Duration: retryAfter}
}

// InternalError answers with 500.
func InternalError(text string) Effect { return Effect{Type: "InternalError", Message: text} }

// Unavailable answers with 503, as a server that is going down.
func Unavailable() Effect { return Effect{Type: "Unavailable"} }

// Timeout answers with 504 at once.
func Timeout() Effect { return Effect{Type: "Timeout"} }

// CutBeforeCommit breaks the connection of a write that has not been made.
func CutBeforeCommit() Effect { return Effect{Type: "CutBeforeCommit"} }

// CutAfterCommit breaks the connection of a write that has been made.
func CutAfterCommit() Effect { return Effect{Type: "CutAfterCommit"} }

// StaleRead answers gets and lists from the state as of some revisions before.
func StaleRead(revisions int) Effect { return Effect{Type: "StaleRead", Count: revisions} }

// RefuseAdmission refuses a valid write as an admission plugin does, with 403.
func RefuseAdmission(message string) Effect { return Effect{Type: "RefuseAdmission", Message: message} }

// DropWatch breaks the connection of a watch after it has delivered a number of further events; 0: at once.
func DropWatch(afterEvents int) Effect { return Effect{Type: "DropWatch", Count: afterEvents} }

// DelayWatch delivers all events of a watch later, in their order.
func DelayWatch(by time.Duration) Effect { return Effect{Type: "DelayWatch", Duration: by} }

// ExpireWatch ends a watch with 410, and compacts the history, so that the client has to list again.
func ExpireWatch() Effect { return Effect{Type: "ExpireWatch"} }

// FailWebhook makes the calls of an admission webhook fail as if nothing listened at its address; empty: of every webhook.
func FailWebhook(name string) Effect { return Effect{Type: "FailWebhook", Webhook: name} }

// FailConversion makes the calls of the conversion webhook of a Resource fail.
func FailConversion() Effect { return Effect{Type: "FailConversion"} }

// Injection is a fault in force. It is safe for concurrent use.
type Injection interface {
	// Fault returns the fault.
	Fault() Fault
	// Err says why the fault could not be injected; nil: it was.
	Err() error
	// Fired returns how many requests, watches or calls the fault has struck until now.
	Fired() int
	// Stop ends the fault. Stopping again does nothing.
	Stop()
}

// Hold keeps the events of all watches back, so that a test decides which client gets which event, and when.
type Hold interface {
	// Pending returns what is held back, in the order of the changes.
	Pending() []Delivery
	// Wait is Pending, and waits until something is held back.
	Wait() []Delivery
	// Deliver delivers the first n of Pending, and returns how many that were.
	Deliver(n int) int
	// DeliverThese delivers events of Pending, each together with those that come before it in its watch.
	DeliverThese(events ...Delivery) int
	// DeliverKind delivers all that Pending has of a resource, such as "pods" or "deployments.apps".
	DeliverKind(resource string) int
	// DeliverTo delivers all that Pending has for watches whose user agent begins with a text.
	DeliverTo(userAgent string) int
	// Release delivers everything that is held back, and ends the Hold.
	Release()
}

// Delivery is an event that is held back from one watch.
type Delivery struct {
	// Resource, User and UserAgent are those of the watch, and Watch is its number.
	Resource  string `json:"resource"`
	User      string `json:"user"`
	UserAgent string `json:"userAgent,omitempty"`
	Watch     int64  `json:"watch"`
	// Type, Namespace and Name are those of the event.
	Type      string `json:"type"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Revision is that of the change.
	Revision int64 `json:"revision"`
	// Text is a short form, such as "ADDED pods default/a to kubelet".
	Text string `json:"text,omitempty"`
}

// String returns the short form.
func (d Delivery) String() string { return d.Text }
