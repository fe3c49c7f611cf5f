package faultinjection

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is what an effect does.
type kind int

const (
	none kind = iota
	fail
	cutBefore
	cutAfter
	stale
	refuse
	drop
	delay
	expire
	webhook
	conversion
)

// Effect is what a fault does to a request. The functions of the package make effects.
type Effect struct {
	kind    kind
	text    string // for people
	invalid error  // why the effect cannot be made

	answer    func(*Request) error // of fail
	onlyWrite bool                 // of fail: reads are never answered so
	lag       int                  // of stale, in revisions
	events    int                  // of drop: after how many
	by        time.Duration        // of delay
	message   string               // of refuse
	name      string               // of a webhook; empty: any
}

// String names the effect.
func (e Effect) String() string { return e.text }

// verbs returns the verbs that the effect can strike.
func (e Effect) verbs() []string {
	switch {
	case e.kind == cutBefore, e.kind == cutAfter, e.kind == refuse, e.kind == webhook, e.onlyWrite:
		return writeVerbs
	case e.kind == stale:
		return readVerbs
	case e.strikesWatches():
		return []string{"watch"}
	}
	return allVerbs
}

func (e Effect) strikesWatches() bool { return e.kind == drop || e.kind == delay || e.kind == expire }
func (e Effect) strikesCalls() bool   { return e.kind == webhook || e.kind == conversion }

// commits tells whether the effect is about the commit of a write.
func (e Effect) commits() bool { return e.kind == cutBefore || e.kind == cutAfter }

// Fail answers with the Status of an error, before anything is read or written.
func Fail(err error) Effect {
	e := Effect{kind: fail, text: fmt.Sprintf("Fail(%v)", err), answer: func(*Request) error { return err }}
	if known := apierrors.APIStatus(nil); err == nil || !errors.As(err, &known) {
		e.invalid = fmt.Errorf("Fail: the error %v has no Status; make it with k8s.io/apimachinery/pkg/api/errors", err)
	} else if code := known.Status().Code; code < 400 || code > 599 {
		e.invalid = fmt.Errorf("Fail: the Status has the code %d, which is no error", code)
	}
	return e
}

// errModified is the text of every conflict over a resourceVersion.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// Conflict answers a write as if another one had come first.
func Conflict() Effect {
	return Effect{kind: fail, text: "Conflict", onlyWrite: true, answer: func(r *Request) error {
		name := r.Name
		if name == "" && r.NameInBody != nil {
			name = r.NameInBody()
		}
		return apierrors.NewConflict(schema.GroupResource{Group: r.Group, Resource: r.Resource}, name, errModified)
	}}
}

// ErrTooMany is the answer of TooManyRequests, which is no Status.
type ErrTooMany struct{ RetryAfter time.Duration }

func (e *ErrTooMany) Error() string { return "Too many requests, please try again later." }

// TooManyRequests answers as a server that has too much to do.
func TooManyRequests(retryAfter time.Duration) Effect {
	e := Effect{kind: fail, text: fmt.Sprintf("TooManyRequests(%v)", retryAfter), answer: func(*Request) error { return &ErrTooMany{retryAfter} }}
	if retryAfter < 0 || retryAfter%time.Second != 0 {
		e.invalid = fmt.Errorf("TooManyRequests: Retry-After is in whole seconds, and %v is not", retryAfter)
	}
	return e
}

// InternalError answers with 500.
func InternalError(text string) Effect {
	return Effect{kind: fail, text: fmt.Sprintf("InternalError(%q)", text), answer: func(*Request) error { return apierrors.NewInternalError(errors.New(text)) }}
}

// Unavailable answers as a server that is going down.
func Unavailable() Effect {
	return Effect{kind: fail, text: "Unavailable", answer: func(*Request) error { return apierrors.NewServiceUnavailable("apiserver is shutting down") }}
}

// ErrTimeout is the answer of Timeout. The server words it as that to a request that takes too long.
var ErrTimeout = errors.New("the request takes too long")

// Timeout answers as if the request had taken too long.
func Timeout() Effect {
	return Effect{kind: fail, text: "Timeout", answer: func(*Request) error { return ErrTimeout }}
}

// CutBeforeCommit breaks the connection of a write that has not been made.
func CutBeforeCommit() Effect { return Effect{kind: cutBefore, text: "CutBeforeCommit"} }

// CutAfterCommit breaks the connection of a write that has been made.
func CutAfterCommit() Effect { return Effect{kind: cutAfter, text: "CutAfterCommit"} }

// StaleRead answers gets and lists as of some revisions before.
func StaleRead(revisions int) Effect {
	e := Effect{kind: stale, text: fmt.Sprintf("StaleRead(%d)", revisions), lag: revisions}
	if revisions <= 0 {
		e.invalid = fmt.Errorf("StaleRead(%d): a cache lags by one revision at least", revisions)
	}
	return e
}

// RefuseAdmission refuses a write as a validating admission plugin does.
func RefuseAdmission(message string) Effect {
	e := Effect{kind: refuse, text: fmt.Sprintf("RefuseAdmission(%q)", message), message: message}
	if message == "" {
		e.invalid = errors.New("RefuseAdmission: the message is empty")
	}
	return e
}

// DropWatch breaks the connection of a watch after a number of further events.
func DropWatch(afterEvents int) Effect {
	e := Effect{kind: drop, text: fmt.Sprintf("DropWatch(%d)", afterEvents), events: afterEvents}
	if afterEvents < 0 {
		e.invalid = fmt.Errorf("DropWatch(%d): the number of events cannot be negative", afterEvents)
	}
	return e
}

// DelayWatch delivers the events of a watch later.
func DelayWatch(by time.Duration) Effect {
	e := Effect{kind: delay, text: fmt.Sprintf("DelayWatch(%v)", by), by: by}
	if by <= 0 {
		e.invalid = fmt.Errorf("DelayWatch(%v): the delay has to be positive", by)
	}
	return e
}

// ExpireWatch compacts the history and ends a watch with 410.
func ExpireWatch() Effect { return Effect{kind: expire, text: "ExpireWatch"} }

// FailWebhook makes the calls of an admission webhook fail; the empty name means every webhook.
func FailWebhook(name string) Effect {
	return Effect{kind: webhook, text: fmt.Sprintf("FailWebhook(%q)", name), name: name}
}

// FailConversion makes the calls of a conversion webhook fail.
func FailConversion() Effect { return Effect{kind: conversion, text: "FailConversion"} }
