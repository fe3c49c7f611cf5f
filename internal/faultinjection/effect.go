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

// effect is a row of the table effects.
type effect struct {
	verbs   []string // that the effect can strike
	strikes place
	// check returns an error for an invalid argument of the effect; nil: the effect has none to check.
	check func(faults.Effect) error
	// answer returns the error that answers the request before anything is read or written; nil: the effect strikes
	// later, where the code checks for its type.
	answer func(faults.Effect, *Request) error
}

// effects has all types of effects. The zero type is for a fault that only adds latency.
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

// effectOf returns the row of a valid fault.
func effectOf(f *faults.Fault) effect { return effects[f.Effect.Type] }

func strikesWatches(f *faults.Fault) bool { return effectOf(f).strikes == watches }
func strikesCalls(f *faults.Fault) bool   { return effectOf(f).strikes == calls }

// commits reports whether the effect concerns the commit of a write.
func commits(f *faults.Fault) bool {
	return f.Effect.Type == faults.EffectCutBeforeCommit || f.Effect.Type == faults.EffectCutAfterCommit
}

func checkFail(e faults.Effect) error {
	status := apierrors.APIStatus(nil)
	if e.Err == nil || !errors.As(e.Err, &status) {
		return fmt.Errorf("%s: the error %v has no Status: create it with k8s.io/apimachinery/pkg/api/errors", e.Type, e.Err)
	}
	if code := status.Status().Code; code < 400 || code > 599 {
		return fmt.Errorf("%s: the Status has the code %d, but an error needs 400 or more", e.Type, code)
	}
	return nil
}

func checkRetryAfter(e faults.Effect) error {
	if e.Duration < 0 || e.Duration%time.Second != 0 {
		return fmt.Errorf("TooManyRequests: Retry-After must be whole seconds, not %v", e.Duration)
	}
	return nil
}

func checkLag(e faults.Effect) error {
	if e.Count <= 0 {
		return fmt.Errorf("%s: the number of revisions must be at least 1", e)
	}
	return nil
}

func checkMessage(e faults.Effect) error {
	if e.Message == "" {
		return errors.New("RefuseAdmission: the message must not be empty")
	}
	return nil
}

func checkEvents(e faults.Effect) error {
	if e.Count < 0 {
		return fmt.Errorf("%s: the number of events must not be negative", e)
	}
	return nil
}

func checkDelay(e faults.Effect) error {
	if e.Duration <= 0 {
		return fmt.Errorf("%s: the delay must be positive", e)
	}
	return nil
}

// errModified is the text of conflicts over a resourceVersion.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

func conflict(_ faults.Effect, r *Request) error {
	name := r.Name
	if name == "" && r.NameInBody != nil {
		name = r.NameInBody()
	}
	return apierrors.NewConflict(schema.GroupResource{Group: r.Group, Resource: r.Resource}, name, errModified)
}

// ErrTooMany is the error of TooManyRequests, which is answered with a text instead of a Status.
type ErrTooMany struct{ RetryAfter time.Duration }

func (e *ErrTooMany) Error() string { return "Too many requests, please try again later." }

// ErrTimeout is the error of Timeout. The server answers it like a request that takes too long.
var ErrTimeout = errors.New("the request takes too long")
