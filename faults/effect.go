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

// Effect is what a [Fault] does to a request. The functions of this package make effects, and set
// the fields that the type needs. An effect that contradicts itself, such as StaleRead(0), is an
// error of Inject. The zero value does nothing.
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

// Fail answers with the Status of an error of k8s.io/apimachinery/pkg/api/errors, whose code must be
// 400 to 599. Nothing is read or written.
func Fail(err error) Effect { return Effect{Type: EffectFail, Err: err} }

// Conflict answers a write with 409, as if another write had come first: "the object has been
// modified; please apply your changes to the latest version and try again".
func Conflict() Effect { return Effect{Type: EffectConflict} }

// TooManyRequests answers with 429 as an overloaded server does: with a text instead of a
// Status. The time, in whole seconds, becomes the header Retry-After; 0: no such header.
//
// With the header, client-go repeats the request by itself after the time, up to ten times, so that
// its caller does not see a single such answer.
func TooManyRequests(retryAfter time.Duration) Effect {
	return Effect{Type: EffectTooManyRequests, Duration: retryAfter}
}

// InternalError answers with 500: "Internal error occurred: TEXT".
func InternalError(text string) Effect { return Effect{Type: EffectInternalError, Message: text} }

// Unavailable answers with 503, as a server that is going down: "apiserver is shutting down".
func Unavailable() Effect { return Effect{Type: EffectUnavailable} }

// Timeout answers with 504 at once, as a server does whose request has taken too long. Nothing is
// read or written. For a write that was made and whose answer never came, use CutAfterCommit.
func Timeout() Effect { return Effect{Type: EffectTimeout} }

// CutBeforeCommit breaks the connection of a write that has not been made. The client gets an error
// of the network (EOF), which does not show whether the write was made. It does not strike dry runs.
func CutBeforeCommit() Effect { return Effect{Type: EffectCutBeforeCommit} }

// CutAfterCommit breaks the connection of a write that has been made: it is in the store, watches
// get its event, and the client gets the same error as from CutBeforeCommit. It strikes writes that
// succeed, except dry runs, in whatever way they ask for it.
func CutAfterCommit() Effect { return Effect{Type: EffectCutAfterCommit} }

// StaleRead answers gets and lists from the state as of some revisions before, at least one, as a
// cache that lags does. The state is whole and consistent: a list shows what it would have shown
// then, with the resourceVersion of then, and a watch from there misses nothing. Every write of any
// object is a revision.
//
// A read that asks for a resourceVersion at least gets nothing older, and a list that asks for
// exactly one, or continues, is not struck. A real server answers only reads with resourceVersion=0
// so. Others are stale if a cache is in between, such as that of an informer. The state is no older
// than the history, and than the definition of a custom resource.
func StaleRead(revisions int) Effect { return Effect{Type: EffectStaleRead, Count: revisions} }

// RefuseAdmission refuses a valid write as an admission plugin does, with 403:
// RESOURCE "NAME" is forbidden: MESSAGE.
func RefuseAdmission(message string) Effect {
	return Effect{Type: EffectRefuseAdmission, Message: message}
}

// DropWatch breaks the connection of a watch after it has delivered a number of further events; 0:
// at once. It strikes watches that run when the fault is injected, in the order in which they began,
// and then those that begin. The objects that a watch begins with do not count as events.
func DropWatch(afterEvents int) Effect { return Effect{Type: EffectDropWatch, Count: afterEvents} }

// DelayWatch delivers all events of a watch later, in their order. It strikes the same watches as
// DropWatch. After Stop, further events come in time, and still in their order. A watch that ends
// because the definition of its resource changes ends when it has all events from before.
func DelayWatch(by time.Duration) Effect { return Effect{Type: EffectDelayWatch, Duration: by} }

// ExpireWatch ends a watch with the event ERROR and the Status 410 "too old resource version", and
// compacts the history as Cluster.Compact does, so that the client has to list again. It strikes
// the same watches as DropWatch. Other watches go on.
func ExpireWatch() Effect { return Effect{Type: EffectExpireWatch} }

// FailWebhook makes the calls of an admission webhook fail as if nothing listened at its address;
// the failurePolicy of the webhook decides what follows. The name is that of the webhook in its
// configuration, such as "validate.example.com"; empty: every webhook. The fields of the fault say
// for which writes of clients. Several webhooks of one write are struck one by one.
func FailWebhook(name string) Effect { return Effect{Type: EffectFailWebhook, Webhook: name} }

// FailConversion makes the calls of the conversion webhook of a Resource fail as if nothing listened
// at its address. It strikes the calls of all requests: all other fields of the fault that say
// which requests have to be empty. An object that need not be converted is still served. The history names
// the fault with each request that fails because of it, or whose admission met it; a conversion for
// managedFields alone fails without a trace there, as on a real server.
func FailConversion() Effect { return Effect{Type: EffectFailConversion} }
