package faultinjection

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/faults"
)

// place is where an effect strikes.
type place int

const (
	requests place = iota // the filter, or a verb
	watches               // a Watch
	calls                 // a call of a webhook
)

// effect is the row of a type of effects.
type effect struct {
	verbs   []string // that it can strike
	strikes place
	// check returns an error for an effect that contradicts itself; nil: there are none.
	check func(faults.Effect) error
	// answer returns the error that answers the request before anything is read or written; nil:
	// the effect does something else, at the place that looks for its type.
	answer func(faults.Effect, *Request) error
}

// effects are all types of effects. The zero type has a fault that only adds latency.
var effects = map[faults.EffectType]effect{
	"":                           {verbs: allVerbs},
	faults.EffectFail:            {verbs: allVerbs, check: checkFail, answer: func(e faults.Effect, _ *Request) error { return e.Err }},
	faults.EffectConflict:        {verbs: writeVerbs, answer: conflict},
	faults.EffectTooManyRequests: {verbs: allVerbs, check: checkRetryAfter, answer: func(e faults.Effect, _ *Request) error { return &ErrTooMany{e.Duration} }},
	faults.EffectInternalError:   {verbs: allVerbs, answer: func(e faults.Effect, _ *Request) error { return apierrors.NewInternalError(errors.New(e.Message)) }},
	faults.EffectUnavailable: {verbs: allVerbs, answer: func(faults.Effect, *Request) error {
		return apierrors.NewServiceUnavailable("apiserver is shutting down")
	}},
	faults.EffectTimeout:         {verbs: allVerbs, answer: func(faults.Effect, *Request) error { return ErrTimeout }},
	faults.EffectCutBeforeCommit: {verbs: writeVerbs},
	faults.EffectCutAfterCommit:  {verbs: writeVerbs},
	faults.EffectStaleRead:       {verbs: readVerbs, check: checkLag},
	faults.EffectRefuseAdmission: {verbs: writeVerbs, check: checkMessage},
	faults.EffectDropWatch:       {verbs: watchVerb, strikes: watches, check: checkEvents},
	faults.EffectDelayWatch:      {verbs: watchVerb, strikes: watches, check: checkDelay},
	faults.EffectExpireWatch:     {verbs: watchVerb, strikes: watches},
	faults.EffectFailWebhook:     {verbs: writeVerbs, strikes: calls},
	faults.EffectFailConversion:  {verbs: allVerbs, strikes: calls},
}

// The verbs of requests for resources.
var (
	writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}
	readVerbs  = []string{"get", "list"}
	watchVerb  = []string{"watch"}
	allVerbs   = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
)

// effectOf returns the row of a fault that was checked.
func effectOf(f *faults.Fault) effect { return effects[f.Effect.Type] }

func strikesWatches(f *faults.Fault) bool { return effectOf(f).strikes == watches }
func strikesCalls(f *faults.Fault) bool   { return effectOf(f).strikes == calls }

// commits reports whether the effect is about the commit of a write.
func commits(f *faults.Fault) bool {
	return f.Effect.Type == faults.EffectCutBeforeCommit || f.Effect.Type == faults.EffectCutAfterCommit
}

func checkFail(e faults.Effect) error {
	status := apierrors.APIStatus(nil)
	if e.Err == nil || !errors.As(e.Err, &status) {
		return fmt.Errorf("%s: the error %v has no Status; make it with k8s.io/apimachinery/pkg/api/errors", e.Type, e.Err)
	}
	if code := status.Status().Code; code < 400 || code > 599 {
		return fmt.Errorf("%s: the Status has the code %d, which is not an error", e.Type, code)
	}
	return nil
}

func checkRetryAfter(e faults.Effect) error {
	if e.Duration < 0 || e.Duration%time.Second != 0 {
		return fmt.Errorf("TooManyRequests: Retry-After is in whole seconds, and %v is not", e.Duration)
	}
	return nil
}

func checkLag(e faults.Effect) error {
	if e.Count <= 0 {
		return fmt.Errorf("%s: a cache lags by one revision at least", e)
	}
	return nil
}

func checkMessage(e faults.Effect) error {
	if e.Message == "" {
		return errors.New("RefuseAdmission: the message is empty")
	}
	return nil
}

func checkEvents(e faults.Effect) error {
	if e.Count < 0 {
		return fmt.Errorf("%s: the number of events cannot be negative", e)
	}
	return nil
}

func checkDelay(e faults.Effect) error {
	if e.Duration <= 0 {
		return fmt.Errorf("%s: the delay has to be positive", e)
	}
	return nil
}

// errModified is the text of every conflict over a resourceVersion.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

func conflict(_ faults.Effect, r *Request) error {
	name := r.Name
	if name == "" && r.NameInBody != nil {
		name = r.NameInBody()
	}
	return apierrors.NewConflict(schema.GroupResource{Group: r.Group, Resource: r.Resource}, name, errModified)
}

// ErrTooMany is the answer of TooManyRequests, which is a text instead of a Status.
type ErrTooMany struct{ RetryAfter time.Duration }

func (e *ErrTooMany) Error() string { return "Too many requests, please try again later." }

// ErrTimeout is the answer of Timeout. The server words it as that to a request that takes too long.
var ErrTimeout = errors.New("the request takes too long")
