package rest

import (
	"fmt"
	"net/http"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// record records each request in the history.
func record(in *history.Recorder) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			info := infoOf(req)
			q := inspect.Request{
				Verb: info.Verb, Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource, Subresource: info.Subresource,
				Namespace: info.Namespace, Name: info.Name, Path: req.URL.Path, Options: req.URL.RawQuery,
				UserAgent: req.UserAgent(), AuditID: req.Header.Get("Audit-ID"), Received: max(req.ContentLength, 0),
			}
			if info.Verb == "patch" {
				q.Patch = history.PatchWord(req.Header.Get("Content-Type"))
			}
			c := contextOf(req)
			c.observe.Entry = in.Begin(q, len(req.Method)+len(req.RequestURI))
			r := &recorded{ResponseWriter: w, observe: &c.observe, streams: info.IsResourceRequest && info.Verb == "watch"}
			defer r.end()
			next.ServeHTTP(r, req)
			r.begin(http.StatusOK) // as net/http does
		})
	}
}

// recorded is a response whose code and size are observed.
type recorded struct {
	http.ResponseWriter
	observe *observe.Request
	streams bool
	code    int
	sent    int // bytes that have not been reported
}

// Unwrap is for http.ResponseController.
func (r *recorded) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// begin reports the code of the response before the client gets it.
func (r *recorded) begin(code int) {
	if r.code == 0 && code >= http.StatusOK {
		r.code = code
		r.observe.Responded(code, r.streams)
	}
}

// end reports that the response is complete, or that the handler has panicked.
func (r *recorded) end() {
	p := recover()
	if p != nil && p != http.ErrAbortHandler {
		what := fmt.Sprint(p)
		if shown := r.observe.Panic(what); shown != what {
			p = shown // for the log
		}
	}
	r.observe.EndAfter(r.sent)
	if p != nil {
		panic(p)
	}
}

func (r *recorded) noteSent() {
	if r.sent > 0 {
		r.observe.Sent(r.sent, 0)
		r.sent = 0
	}
}

// WriteHeader implements http.ResponseWriter.
func (r *recorded) WriteHeader(code int) {
	r.begin(code)
	r.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (r *recorded) Write(p []byte) (int, error) {
	r.begin(http.StatusOK)
	r.sent += len(p)
	return r.ResponseWriter.Write(p)
}

// WriteString implements io.StringWriter, so that large answers are not copied.
func (r *recorded) WriteString(s string) (int, error) {
	r.begin(http.StatusOK)
	r.sent += len(s)
	if w, ok := r.ResponseWriter.(interface{ WriteString(string) (int, error) }); ok {
		return w.WriteString(s)
	}
	return r.ResponseWriter.Write([]byte(s))
}

// Flush implements http.Flusher, which watches need.
func (r *recorded) Flush() {
	if r.streams {
		r.noteSent()
	}
	_ = http.NewResponseController(r.ResponseWriter).Flush() // the client may have gone
}
