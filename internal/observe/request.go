package observe

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/redact"
)

// Request observes one request. The zero value observes nothing.
type Request struct {
	// Entry is the request in the history; nil: the history does not have the request.
	*history.Entry

	explanation *explanation // nil: the client has not requested one
	event       *Event       // nil: requests are not audited
}

// Key is the key of a *Request in the context of its request.
type Key struct{}

// nobody is the Request that observes nothing.
var nobody = &Request{}

// With returns a context with r.
func With(ctx context.Context, r *Request) context.Context { return context.WithValue(ctx, Key{}, r) }

// From returns the Request in a context. It is never nil.
func From(ctx context.Context) *Request {
	if r, ok := ctx.Value(Key{}).(*Request); ok {
		return r
	}
	return nobody
}

// Unexplained returns a context for a write that is part of the request, but not of its explanation.
func Unexplained(ctx context.Context) context.Context {
	r := From(ctx)
	if !r.Explains() {
		return ctx
	}
	without := *r
	without.explanation = nil
	return With(ctx, &without)
}

// Explain adds an explanation to the request. It must be called before the stages that the explanation covers.
func (r *Request) Explain() { r.explanation = &explanation{} }

// Explains reports whether the client has requested an explanation.
func (r *Request) Explains() bool { return r.explanation != nil }

// User reports the user of the request.
func (r *Request) User(by user.Info) {
	r.Entry.User(by.GetName())
	r.event.requestedBy(by)
}

// Impersonated reports the impersonated user. Upstream's filter adds it to the audit event.
func (r *Request) Impersonated(as user.Info) { r.Entry.User(as.GetName()) }

// Decision reports the decision of the authorizer with its reason, or its error. The last decision counts.
func (r *Request) Decision(allowed bool, reason string, err error) {
	r.explanation.note(func(noted *inspect.Explanation) { noted.Access = &inspect.Access{Allowed: allowed, Reason: reason} })
	r.event.decided(allowed, reason, err)
}

// Exempt reports that the request is allowed without a decision of the authorizer.
func (r *Request) Exempt() { r.event.decided(true, "", nil) }

// Fault reports that a fault has struck the request, such as "latency of 1s".
func (r *Request) Fault(what string) {
	r.Entry.Fault(what)
	r.explanation.note(func(noted *inspect.Explanation) {
		if noted.Fault != "" {
			what = noted.Fault + ", " + what
		}
		noted.Fault = what
	})
}

// HoldsSecret reports that the texts about the request may contain values of a Secret, although the request
// is not for one.
func (r *Request) HoldsSecret(ctx context.Context) {
	redact.Mark(ctx)
	r.Entry.HoldsSecret()
}

// Webhook reports a call of an admission webhook. step returns the step for an explanation.
func (r *Request) Webhook(c inspect.WebhookCall, step func() inspect.AdmissionStep) {
	r.Entry.Webhook(c)
	if r.Explains() {
		r.Step(step())
	}
}

// Step reports the result of one participant in admission to the explanation.
func (r *Request) Step(s inspect.AdmissionStep) {
	r.explanation.note(func(noted *inspect.Explanation) { noted.Admission = append(noted.Admission, s) })
}

// Annotation reports an annotation that admission adds to an audit event of at least the level.
func (r *Request) Annotation(key, value string, level auditinternal.Level) {
	r.explanation.note(func(noted *inspect.Explanation) {
		if noted.Annotations == nil {
			noted.Annotations = map[string]string{}
		}
		noted.Annotations[key] = value
	})
	if r.event != nil && r.event.Level.GreaterOrEqual(level) {
		audit.AddAuditAnnotation(r.event.ctx, key, value)
	}
}

// Overtaken reports that another write came first: the client has read the revision read of the object, which now has
// the revision found.
func (r *Request) Overtaken(read, found int64) {
	r.Entry.Overtaken(read, found)
	r.explanation.note(func(noted *inspect.Explanation) { noted.Overtaken = &inspect.Overtaken{Sent: read, Is: found} })
}

// Failed reports the Status of a response, before the response begins. A Status of success is not reported.
func (r *Request) Failed(status *metav1.Status) {
	if status == nil || status.Status == metav1.StatusSuccess {
		return
	}
	r.Entry.Failed(status)
	if e := r.explanation; e != nil {
		e.note(func(*inspect.Explanation) { e.failed = status })
	}
}
