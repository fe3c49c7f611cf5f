package observe

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/inspect"
)

// explanation is the explanation of a request, as far as the request has come.
type explanation struct {
	mu     sync.Mutex
	is     inspect.Explanation
	failed *metav1.Status // of the response; nil: it is not a failure
}

// note changes the explanation; nil: it does nothing.
func (e *explanation) note(change func(*inspect.Explanation)) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.is)
}

// named sets the name of the object; empty: it does not have one yet.
func (e *explanation) named(name string) {
	e.note(func(is *inspect.Explanation) {
		if name != "" {
			is.Request.Object = name
		}
	})
}

// Response is what an explanation takes from the request and its response.
type Response struct {
	Request  inspect.ExplainedRequest
	Code     int
	Warnings []string
	// Object returns how the explanation names the object. It gets the name that the request has set in a
	// body; empty: none.
	Object func(name string) string
	// Since returns the writes of the object after a revision.
	Since func(revision int64) []inspect.InterveningWrite
}

// Explanation returns the explanation of a request that has one, without what may not be shown of the request.
func (r *Request) Explanation(of Response) inspect.Explanation {
	e := r.explanation
	var overtaken *inspect.Overtaken
	e.note(func(is *inspect.Explanation) {
		q := of.Request
		q.Manager, q.DryRun, q.Object = is.Request.Manager, is.Request.DryRun, of.Object(is.Request.Object)
		is.Request, is.Answer.Code, is.Warnings = q, of.Code, of.Warnings
		overtaken = is.Overtaken
	})
	if overtaken != nil {
		by := of.Since(overtaken.Sent)
		e.note(func(is *inspect.Explanation) { is.Overtaken.By = by })
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	shown := r.Shown()
	is := shown.Explanation(e.is)
	if e.failed != nil {
		is.Answer.Reason, is.Answer.Message = shown.Status(e.failed)
	}
	return is
}
