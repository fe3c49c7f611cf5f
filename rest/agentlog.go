package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/write"
)

// agentLog implements server.Log: the writes of the server's own controllers are in the history
// and in the audit trail, like requests of clients.
type agentLog struct {
	trail   *auditSink // nil: none is kept
	history *history.Recorder
	now     func() time.Time
}

// Write implements server.Log.
func (l agentLog) Write(ctx context.Context, by controller.Identity, verb string, w write.Request,
	run func(context.Context) (write.Result, error)) (result write.Result, err error) {
	entry := l.history.Begin(ofController(ctx, by, verb, w), 0)
	defer func() {
		shown := entry.Shown()
		noteResult(entry, result, err)
		err = shown.Error(err) // which may be told in the log of a test
	}()
	return l.audited(observe.With(ctx, &observe.Request{Entry: entry}), by, verb, w, run)
}

// Stage implements server.Log.
func (l agentLog) Stage(ctx context.Context, by controller.Identity, verb string, w write.Request) (context.Context, func(func() (write.Result, error))) {
	entry := l.history.Prepare(ofController(ctx, by, verb, w))
	ctx = observe.With(ctx, &observe.Request{Entry: entry})
	return ctx, func(result func() (write.Result, error)) {
		noteResult(entry, write.Result{}, nil)
		// An error could only be about the event: the write has been committed.
		_, _ = l.audited(ctx, by, verb, w, func(context.Context) (write.Result, error) { return result() })
	}
}

// audited makes an event of a write, which run carries out in the context with the event. The event
// is what the request would have that a real controller sends.
func (l agentLog) audited(ctx context.Context, by controller.Identity, verb string, w write.Request,
	run func(context.Context) (write.Result, error)) (result write.Result, err error) {
	if l.trail == nil {
		return run(ctx)
	}
	received := l.now()
	ctx = l.trail.newEvent(ctx, "")
	logController(ctx, received, by.UserAgent(), verb, w)
	defer func() {
		if p := recover(); p != nil {
			logPanic(ctx, p)
			panic(p)
		}
		logResult(ctx, w, result, err)
		audit.AuditContextFrom(ctx).ProcessEventStage(ctx, auditinternal.StageResponseComplete)
	}()
	logChange(ctx, w)
	return run(ctx)
}

// logController says in an event which controller asks for what.
func logController(ctx context.Context, received time.Time, userAgent, verb string, w write.Request) {
	gv := w.Version.GroupVersion()
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	if w.Version.Resource.Namespaced {
		path += "/namespaces/" + w.Namespace
	}
	path += "/" + w.Version.Resource.Names.Plural
	if w.Name != "" {
		path += "/" + w.Name
	}
	if w.Subresource != "" {
		path += "/" + w.Subresource
	}
	by, _ := apirequest.UserFrom(ctx)
	logRequest(ctx, &http.Request{URL: &url.URL{Path: path}, Header: http.Header{"User-Agent": {userAgent}}}, &apirequest.RequestInfo{
		IsResourceRequest: true, Verb: verb, Namespace: w.Namespace, APIGroup: gv.Group, APIVersion: gv.Version,
		Resource: w.Version.Resource.Names.Plural, Subresource: w.Subresource, Name: w.Name,
	}, received, by)
	logDecision(ctx, "allow", "")
}

// logChange puts into an event what a controller would send: the object, the patch, the
// apply configuration or the options of the delete.
func logChange(ctx context.Context, w write.Request) {
	gvr := w.Version.GroupVersionResource()
	switch change := w.Change.(type) {
	case write.Create:
		if obj, err := change.Object(w.Version); err == nil { // as below
			audit.LogRequestObject(ctx, obj.Object, w.Version.GroupVersion(), gvr, w.Subresource, w.Version.Serializer)
		}
	case write.Replace:
		if obj, err := change.Object(w.Version); err == nil { // the write fails with the error
			audit.LogRequestObject(ctx, obj.Object, w.Version.GroupVersion(), gvr, w.Subresource, w.Version.Serializer)
		}
	case write.Apply:
		audit.LogRequestPatch(ctx, change.Body)
	case write.Patch:
		audit.LogRequestPatch(ctx, change.Body)
	case write.Delete:
		audit.LogRequestObject(ctx, change.Options, corev1.SchemeGroupVersion, gvr, w.Subresource, metainternalversionscheme.Codecs)
	}
}

// logResult puts into an event what the API would answer a write with.
func logResult(ctx context.Context, w write.Request, result write.Result, err error) {
	event := audit.AuditContextFrom(ctx)
	var status *metav1.Status // nil: the answer is the object
	if _, ok := w.Change.(write.Delete); ok && err == nil && result.Deleted && !w.Version.AnswersDeleted {
		status, err = deleted(result)
	}
	code := int32(http.StatusOK)
	if result.Created {
		code = http.StatusCreated
	}
	if errors.Is(err, write.ErrNotServed) {
		err = unknownPath(w.Version.Resource.Routing)
	}
	switch {
	case errors.Is(err, errUnknownPath): // a text
		event.SetEventResponseStatusCode(http.StatusNotFound)
		return
	case err != nil:
		status = toStatus(err)
		code = status.Code
	}
	if status != nil {
		audit.LogResponseObject(ctx, status, corev1.SchemeGroupVersion, scheme.Codecs)
	} else if event.GetEventLevel() == auditinternal.LevelRequestResponse {
		event.LogResponseObject(nil, &runtime.Unknown{Raw: []byte(result.Text), ContentType: runtime.ContentTypeJSON})
	}
	event.SetEventResponseStatusCode(code)
}
