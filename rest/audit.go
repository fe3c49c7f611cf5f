package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/audittrail"
	"github.com/fakecluster/fakecluster/internal/observe"
)

// recordEvent adds an audit event for each request to the trail, if trail is not nil. It sends the end of the
// response after the event is recorded, so that a client that has read a response finds its event. For a
// watch, which does not end, it records the event of the stage ResponseStarted before it sends the header of
// the response.
func recordEvent(trail *audittrail.Trail, now func() time.Time) filter {
	return func(next http.Handler) http.Handler {
		if trail == nil {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			c, info, began := contextOf(req), infoOf(req), now()
			ctx := c.observe.Audit(req.Context(), observe.Event{Sink: trail, Level: trail.Level, Request: req, Info: info, Received: began})
			ctx = apirequest.WithLatencyTrackers(apirequest.WithReceivedTimestamp(ctx, began))
			event := audit.AuditContextFrom(ctx)
			w.Header().Set("Audit-Id", string(event.AuditID()))
			a := &auditedAnswer{ResponseWriter: w, ctx: ctx, event: event, streams: info.IsResourceRequest && info.Verb == "watch"}
			c.audited = a
			req = req.WithContext(ctx)
			defer func() {
				if p := recover(); p != nil {
					observe.Panicked(ctx, p)
					panic(p)
				}
				logLatency(ctx, now().Sub(began))
				a.finish()
			}()
			next.ServeHTTP(a, req)
		})
	}
}

// auditedAnswer records the answer of a request for its event.
type auditedAnswer struct {
	http.ResponseWriter
	ctx   context.Context
	event *audit.AuditContext
	// streams says that the answer is sent as it is written. Any other answer is held back until finish.
	streams bool
	code    int // 0: nothing has been answered yet
	body    bytes.Buffer

	// status is the Status in the answer, and object the answer in JSON, if it has them.
	status *metav1.Status
	object string
}

// answerFrom returns the audited answer of a request; nil: the request is not audited. It unwraps the
// ResponseWriter to find it.
func answerFrom(ctx context.Context) *auditedAnswer {
	if c, ok := ctx.Value(requestContextKey{}).(*requestContext); ok {
		return c.audited
	}
	return nil
}

// hasObject reports whether the event of a request has the object in the answer.
func (a *auditedAnswer) hasObject() bool {
	return a != nil && a.event.GetEventLevel().GreaterOrEqual(auditinternal.LevelRequestResponse)
}

// setAuditObject records an answer that is not a stored object: a Status in the history, and any object in
// the audit event of the request if it has one.
func setAuditObject(ctx context.Context, obj runtime.Object) {
	status, _ := obj.(*metav1.Status)
	observe.From(ctx).Failed(status)
	a := answerFrom(ctx)
	if a == nil {
		return
	}
	a.status = status
	if a.hasObject() {
		text, err := runtime.Encode(scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion), obj)
		if err != nil {
			klog.Warningf("Failed to encode an answer for the audit log: %v", err)
		}
		a.object = strings.TrimSuffix(string(text), "\n")
	}
}

// Unwrap is for http.ResponseController.
func (a *auditedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *auditedAnswer) WriteHeader(code int) {
	if a.code != 0 {
		return
	}
	a.code = code
	a.event.SetEventResponseStatusCode(int32(code))
	if a.streams {
		a.event.ProcessEventStage(a.ctx, auditinternal.StageResponseStarted)
		a.ResponseWriter.WriteHeader(code)
	}
}

// Write implements http.ResponseWriter.
func (a *auditedAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.streams {
		return a.ResponseWriter.Write(p)
	}
	return a.body.Write(p)
}

// Flush implements http.Flusher, which watches need.
func (a *auditedAnswer) Flush() {
	if a.streams {
		a.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(a.ResponseWriter).Flush() // the client may have gone
	}
}

// finish completes the event with the answer, and then sends the answer.
func (a *auditedAnswer) finish() {
	if a.code == 0 {
		a.event.SetEventResponseStatus(&metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess, Message: "Connection closed early"})
	} else {
		a.event.LogResponseObject(a.status, a.answered())
		a.event.SetEventResponseStatusCode(int32(a.code))
	}
	a.event.ProcessEventStage(a.ctx, auditinternal.StageResponseComplete)
	if a.code != 0 && !a.streams {
		a.ResponseWriter.WriteHeader(a.code)
		_, _ = a.ResponseWriter.Write(a.body.Bytes()) // the client may have gone
	}
}

// answered returns the object in the answer; nil if there is none.
func (a *auditedAnswer) answered() *runtime.Unknown {
	if !a.hasObject() {
		return nil
	}
	text := []byte(a.object)
	if media, _, _ := strings.Cut(a.Header().Get("Content-Type"), ";"); len(text) == 0 && media == runtime.ContentTypeJSON {
		text = bytes.TrimSuffix(a.body.Bytes(), []byte("\n"))
	}
	if !json.Valid(text) {
		return nil
	}
	return &runtime.Unknown{Raw: text, ContentType: runtime.ContentTypeJSON}
}
