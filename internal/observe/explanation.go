package observe

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/redact"
)

// Recorder takes down the explanation of one write. Its methods may be called by several
// goroutines, and a nil Recorder ignores them.
type Recorder struct {
	mu     sync.Mutex
	is     inspect.Explanation
	failed *metav1.Status // what the answer says of a failure; nil: it says none
}

// Key is the key of a Recorder in the context of its request.
type Key struct{}

// From returns what takes down the explanation of a request; nil: nothing does.
func From(ctx context.Context) *Recorder {
	r, _ := ctx.Value(Key{}).(*Recorder)
	return r
}

// note changes the explanation. Methods that are called for every write do not use it, because what
// the function needs is allocated even if there is no Recorder.
func (r *Recorder) note(change func(*inspect.Explanation)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.is)
}

// Explanation returns what has been taken down, as far as it may be shown of the request.
func (r *Recorder) Explanation(of redact.Request) inspect.Explanation {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := of.Explanation(r.is)
	if r.failed != nil {
		e.Answer.Reason, e.Answer.Message = of.Status(r.failed)
	}
	return e
}

// WroteOver returns the resourceVersion of a client that has written over a later revision; ok is false if it has not.
func (r *Recorder) WroteOver() (revision int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.is.Overtaken == nil {
		return 0, false
	}
	return r.is.Overtaken.Sent, true
}

// Asks says what the request is; name names the object that it is for, if that is known.
func (r *Recorder) Asks(q inspect.ExplainedRequest, name func(of string) string) {
	r.note(func(e *inspect.Explanation) {
		q.Manager, q.DryRun, q.Object = e.Request.Manager, e.Request.DryRun, name(e.Request.Object)
		e.Request = q
	})
}

// Named says what the name of a new object is.
func (r *Recorder) Named(name string) {
	r.note(func(e *inspect.Explanation) {
		if name != "" {
			e.Request.Object = name
		}
	})
}

// Writes says which manager writes, and whether it is a dry run.
func (r *Recorder) Writes(manager string, dryRun bool) {
	r.note(func(e *inspect.Explanation) { e.Request.Manager, e.Request.DryRun = manager, dryRun })
}

// May reports whether the user may make the request. The last decision counts.
func (r *Recorder) May(allowed bool, reason string) {
	r.note(func(e *inspect.Explanation) { e.Access = &inspect.Access{Allowed: allowed, Reason: reason} })
}

// Struck says what a fault on purpose does to the request.
func (r *Recorder) Struck(what string) {
	r.note(func(e *inspect.Explanation) {
		if e.Fault != "" {
			what = e.Fault + ", " + what
		}
		e.Fault = what
	})
}

// Attempt says that an attempt at the write begins. What the last one found counts no more.
func (r *Recorder) Attempt() {
	r.note(func(e *inspect.Explanation) {
		*e = inspect.Explanation{Request: e.Request, Access: e.Access, Fault: e.Fault, Attempts: e.Attempts + 1}
	})
}

// Step says what somebody has said in admission.
func (r *Recorder) Step(s inspect.AdmissionStep) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.is.Admission = append(r.is.Admission, s)
}

// Annotate says what the audit event of the request is told.
func (r *Recorder) Annotate(key, value string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.is.Annotations == nil {
		r.is.Annotations = map[string]string{}
	}
	r.is.Annotations[key] = value
}

// Prepared says what the kind itself has changed of the object.
func (r *Recorder) Prepared(was, is map[string]any) {
	changes := changesOf(was, is)
	r.note(func(e *inspect.Explanation) { e.Prepared = append(e.Prepared, changes...) })
}

// Judged says what is wrong with the object, what would be if it had changed, and what the rules
// have cost.
func (r *Recorder) Judged(refused, ratcheted []inspect.FieldError, rules []inspect.CELRule) {
	r.note(func(e *inspect.Explanation) { e.Refused, e.Ratcheted, e.Rules = refused, ratcheted, rules })
}

// Overtaken says that the object has been written since the client read it.
func (r *Recorder) Overtaken(sent, is int64) {
	r.note(func(e *inspect.Explanation) { e.Overtaken = &inspect.Overtaken{Sent: sent, Is: is} })
}

// Since says who has written it since then; it follows Overtaken.
func (r *Recorder) Since(by []inspect.InterveningWrite) {
	r.note(func(e *inspect.Explanation) { e.Overtaken.By = by })
}

// Unchanged says that nothing is written.
func (r *Recorder) Unchanged() { r.note(func(e *inspect.Explanation) { e.Unchanged = true }) }

// Fails says what the answer says of a failure.
func (r *Recorder) Fails(status *metav1.Status) {
	r.note(func(*inspect.Explanation) { r.failed = status })
}

// Answers says what the client gets.
func (r *Recorder) Answers(code int, warnings []string) {
	r.note(func(e *inspect.Explanation) { e.Answer.Code, e.Warnings = code, warnings })
}
