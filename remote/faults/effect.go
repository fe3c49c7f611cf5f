// Code generated from faults/effect.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package faults

import (
	"fmt"
	"time"
)

// EffectType names what an [Effect] does. Each has a constructor, which documents it.
type EffectType string

// The types of effects.
const (
	EffectFail            EffectType = "Fail"
	EffectConflict        EffectType = "Conflict"
	EffectTooManyRequests EffectType = "TooManyRequests"
	EffectInternalError   EffectType = "InternalError"
	EffectUnavailable     EffectType = "Unavailable"
	EffectTimeout         EffectType = "Timeout"
	EffectCutBeforeCommit EffectType = "CutBeforeCommit"
	EffectCutAfterCommit  EffectType = "CutAfterCommit"
	EffectStaleRead       EffectType = "StaleRead"
	EffectRefuseAdmission EffectType = "RefuseAdmission"
	EffectDropWatch       EffectType = "DropWatch"
	EffectDelayWatch      EffectType = "DelayWatch"
	EffectExpireWatch     EffectType = "ExpireWatch"
	EffectFailWebhook     EffectType = "FailWebhook"
	EffectFailConversion  EffectType = "FailConversion"
)

// Effect is what a [Fault] does to a request. The functions of this package create effects, with the fields
// that each type needs. An invalid effect, such as StaleRead(0), is an error of Inject. The zero value has no
// effect.
type Effect struct {
	Type     EffectType
	Err      error         // of Fail
	Message  string        // of InternalError and RefuseAdmission
	Duration time.Duration // of TooManyRequests and DelayWatch
	Count    int           // of StaleRead and DropWatch
	Webhook  string        // of FailWebhook
}

// String names the effect, such as StaleRead(3).
func (e Effect) String() string {
	switch e.Type {
	case EffectFail:
		return fmt.Sprintf("%s(%v)", e.Type, e.Err)
	case EffectInternalError, EffectRefuseAdmission:
		return fmt.Sprintf("%s(%q)", e.Type, e.Message)
	case EffectTooManyRequests, EffectDelayWatch:
		return fmt.Sprintf("%s(%v)", e.Type, e.Duration)
	case EffectStaleRead, EffectDropWatch:
		return fmt.Sprintf("%s(%d)", e.Type, e.Count)
	case EffectFailWebhook:
		return fmt.Sprintf("%s(%q)", e.Type, e.Webhook)
	}
	return string(e.Type)
}

// Fail answers with the Status of an error of k8s.io/apimachinery/pkg/api/errors. Its code must be 400 to
// 599; anything else is an error of Inject. Nothing is read or written.
func Fail(err error) Effect { return Effect{Type: EffectFail, Err: err} }

// Conflict answers a write with 409, as if another write had come first: "the object has been
// modified; please apply your changes to the latest version and try again".
func Conflict() Effect { return Effect{Type: EffectConflict} }

// TooManyRequests answers with 429 as an overloaded server does: with a text instead of a Status. retryAfter,
// a time of whole seconds, is sent in the header Retry-After; 0: no such header.
//
// With the header, client-go waits and repeats the request by itself, up to ten times. So its caller does not
// see a single such answer.
func TooManyRequests(retryAfter time.Duration) Effect {
	return Effect{Type: EffectTooManyRequests, Duration: retryAfter}
}

// InternalError answers with 500: "Internal error occurred: TEXT".
func InternalError(text string) Effect { return Effect{Type: EffectInternalError, Message: text} }

// Unavailable answers with 503, as a server that is going down: "apiserver is shutting down".
func Unavailable() Effect { return Effect{Type: EffectUnavailable} }

// Timeout answers with 504 at once, as a server does when a request has taken too long. Nothing is
// read or written. For a write that is made but whose response is lost, use [CutAfterCommit].
func Timeout() Effect { return Effect{Type: EffectTimeout} }

// CutBeforeCommit breaks the connection of a write before it is stored. The client gets a network error
// (EOF), which does not show whether the write was stored. It does not strike dry runs.
func CutBeforeCommit() Effect { return Effect{Type: EffectCutBeforeCommit} }

// CutAfterCommit breaks the connection of a write after it is stored: watches get its event, and the client
// gets the same error as from CutBeforeCommit. It strikes only writes that succeed, and never a dry run.
func CutAfterCommit() Effect { return Effect{Type: EffectCutAfterCommit} }

// StaleRead answers gets and lists from an earlier state, as a cache that lags does: the state the
// given number of revisions ago, at least one. Each write of any object is one revision. The state
// is consistent: a list has the objects and the resourceVersion of that revision, and a watch that
// begins there misses no event.
//
// A read with a minimum resourceVersion never gets an older state. A list of an exact
// resourceVersion, or with a continue token, is not struck. On a real server only reads with
// resourceVersion=0 can be stale; others are stale if the client reads from a cache, such as that
// of an informer. The state is never older than the history, or than the definition of a custom
// resource.
func StaleRead(revisions int) Effect { return Effect{Type: EffectStaleRead, Count: revisions} }

// RefuseAdmission denies a valid write as an admission plugin does, with 403: RESOURCE "NAME" is forbidden:
// MESSAGE.
func RefuseAdmission(message string) Effect {
	return Effect{Type: EffectRefuseAdmission, Message: message}
}

// DropWatch breaks the connection of a watch after it has delivered this many further events; 0: at once. It
// strikes the watches that run when the fault is injected, in the order in which they began, and then each
// new one. The initial objects of a watch do not count as events.
func DropWatch(afterEvents int) Effect { return Effect{Type: EffectDropWatch, Count: afterEvents} }

// DelayWatch delivers all events of a watch later, in their order. It strikes the same watches as
// DropWatch. After Stop, new events are delivered without delay, but never before older ones. If
// the definition of the resource changes, the watch ends once it has delivered all events from
// before the change.
func DelayWatch(by time.Duration) Effect { return Effect{Type: EffectDelayWatch, Duration: by} }

// ExpireWatch ends a watch with the event ERROR and the Status 410 "too old resource version", and
// compacts the history as Cluster.Compact does, so that the client has to list again. It strikes
// the same watches as DropWatch. Other watches go on.
func ExpireWatch() Effect { return Effect{Type: EffectExpireWatch} }

// FailWebhook makes the calls of an admission webhook fail as if nothing listened at its address;
// the failurePolicy of the webhook decides what follows. The name is that of the webhook in its
// configuration, such as "validate.example.com"; empty: every webhook. The other fields of the
// fault select the writes of clients. If a write calls several webhooks, the fault strikes each
// call separately.
func FailWebhook(name string) Effect { return Effect{Type: EffectFailWebhook, Webhook: name} }

// FailConversion makes the calls of the conversion webhook of a Resource fail as if nothing
// listened at its address. It strikes the calls of all requests: Verb, Subresource, Namespace,
// Name, User, UserAgent and AuditID must be empty. An object that need not be converted is still served. The
// history names the fault in each request that fails because of it, and in each request whose
// admission meets the failure. A failed conversion for managedFields alone is not in the history,
// and a real server does not report it either.
func FailConversion() Effect { return Effect{Type: EffectFailConversion} }
