package observe

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/inspect"
)

// explanation is the explanation of a request in flight.
type explanation struct {
	mu     sync.Mutex
	noted  inspect.Explanation
	failed *metav1.Status // of the response; nil: no failure
}

// note changes the explanation. It does nothing for a nil explanation.
func (e *explanation) note(change func(*inspect.Explanation)) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.noted)
}

// named sets the name of the object; empty: it does not have one yet.
func (e *explanation) named(name string) {
	e.note(func(noted *inspect.Explanation) {
		if name != "" {
			noted.Request.Object = name
		}
	})
}

// Response has what an explanation needs from the request and its response.
type Response struct {
	Request  inspect.ExplainedRequest
	Code     int
	Warnings []string
	// Object returns the text for the object. name is the name in the body; empty: none.
	Object func(name string) string
	// Since returns the writes to the object after a revision.
	Since func(revision int64) []inspect.InterveningWrite
}

// Explanation returns the explanation of a request with one, without hidden values.
func (r *Request) Explanation(response Response) inspect.Explanation {
	e := r.explanation
	var overtaken *inspect.Overtaken
	e.note(func(noted *inspect.Explanation) {
		q := response.Request
		q.Manager, q.DryRun, q.Object = noted.Request.Manager, noted.Request.DryRun, response.Object(noted.Request.Object)
		noted.Request, noted.Answer.Code, noted.Warnings = q, response.Code, response.Warnings
		overtaken = noted.Overtaken
	})
	if overtaken != nil {
		by := response.Since(overtaken.Sent)
		e.note(func(noted *inspect.Explanation) { noted.Overtaken.By = by })
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	shown := r.Shown()
	copied := shown.Explanation(e.noted)
	if e.failed != nil {
		copied.Answer.Reason, copied.Answer.Message = shown.Status(e.failed)
	}
	return copied
}
