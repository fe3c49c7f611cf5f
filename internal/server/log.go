package server

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

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/audittrail"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
)

// ownWrites observes the writes of the server's own controllers like the requests of clients.
type ownWrites struct {
	audit   *audittrail.Trail // nil: requests are not audited
	history *history.Recorder
	now     func() time.Time
}

// write observes a write, which run carries out in the context that it gets.
func (l ownWrites) write(ctx context.Context, by controller.Identity, verb string, w write.Request,
	run func(context.Context) (write.Result, error)) (result write.Result, err error) {
	o := &observe.Request{Entry: l.history.Begin(controllerRequest(ctx, by, verb, w), 0)}
	defer func() {
		shown := o.Shown()
		noteResult(o, result, err)
		err = shown.Error(err) // the log of a test may show it
	}()
	return l.audited(observe.With(ctx, o), by, verb, w, run)
}

// stage observes a write that commits together with another one. It returns the context for its stages, and a function
// to call with its result after the commit.
func (l ownWrites) stage(ctx context.Context, by controller.Identity, verb string, w write.Request) (context.Context, func(func() (write.Result, error))) {
	o := &observe.Request{Entry: l.history.Prepare(controllerRequest(ctx, by, verb, w))}
	ctx = observe.With(ctx, o)
	return ctx, func(result func() (write.Result, error)) {
		noteResult(o, write.Result{}, nil)
		// The write has been committed: an error could only concern the event.
		_, _ = l.audited(ctx, by, verb, w, func(context.Context) (write.Result, error) { return result() })
	}
}

// audited carries out a write by run, and audits it with the event that the request of a real controller would have.
func (l ownWrites) audited(ctx context.Context, by controller.Identity, verb string, w write.Request,
	run func(context.Context) (write.Result, error)) (result write.Result, err error) {
	if l.audit == nil {
		return run(ctx)
	}
	o := observe.From(ctx)
	ctx = o.Audit(ctx, l.event(by, verb, w))
	o.User(by.User())
	o.Exempt()
	defer func() {
		if p := recover(); p != nil {
			observe.Panicked(ctx, p)
			panic(p)
		}
		logResult(ctx, w, result, err)
		audit.AuditContextFrom(ctx).ProcessEventStage(ctx, auditinternal.StageResponseComplete)
	}()
	observeChange(o, w)
	return run(ctx)
}

// event returns the event of a request that a controller would send for a write.
func (l ownWrites) event(by controller.Identity, verb string, w write.Request) observe.Event {
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
	return observe.Event{
		Sink: l.audit, Level: l.audit.Level, Received: l.now(),
		Request: &http.Request{URL: &url.URL{Path: path}, Header: http.Header{"User-Agent": {by.UserAgent()}}},
		Info: &apirequest.RequestInfo{
			IsResourceRequest: true, Verb: verb, Namespace: w.Namespace, APIGroup: gv.Group, APIVersion: gv.Version,
			Resource: w.Version.Resource.Names.Plural, Subresource: w.Subresource, Name: w.Name,
		},
	}
}

// observeChange reports the body that a controller would send: the object, the patch, the apply configuration or the
// options of the delete.
func observeChange(o *observe.Request, w write.Request) {
	gvr := w.Version.GroupVersionResource()
	object := func(object write.Object) {
		made, ok := object.(write.Made)
		if !ok {
			return
		}
		if obj, err := made(w.Version); err == nil { // otherwise the write fails with this error
			o.Object(obj.Object, w.Version.GroupVersion(), gvr, w.Subresource, w.Version.Serializer)
		}
	}
	switch change := w.Change.(type) {
	case write.Create:
		object(change.Object)
	case write.Replace:
		object(change.Object)
	case write.Apply:
		o.Patch(change.Body)
	case write.Patch:
		o.Patch(change.Body)
	case write.Delete:
		// Deletes share their options, and the encoder writes into what it encodes.
		o.Object(change.Options.DeepCopy(), corev1.SchemeGroupVersion, gvr, w.Subresource, metainternalversionscheme.Codecs)
	}
}

// logResult adds the response of the API for a write to the event.
func logResult(ctx context.Context, w write.Request, result write.Result, err error) {
	event := audit.AuditContextFrom(ctx)
	var status *metav1.Status // nil: the answer is the object
	if _, ok := w.Change.(write.Delete); ok && err == nil && result.Deleted && !w.Version.Deletion.AnswersObject {
		status, err = result.DeletedStatus()
	}
	code := int32(http.StatusOK)
	if result.Created {
		code = http.StatusCreated
	}
	switch {
	case errors.Is(err, write.ErrNotServed): // the response is a text
		event.SetEventResponseStatusCode(http.StatusNotFound)
		return
	case err != nil:
		status = view.Status(err)
		code = status.Code
	}
	if status != nil {
		audit.LogResponseObject(ctx, status, corev1.SchemeGroupVersion, scheme.Codecs)
	} else if event.GetEventLevel() == auditinternal.LevelRequestResponse {
		event.LogResponseObject(nil, &runtime.Unknown{Raw: []byte(result.Text), ContentType: runtime.ContentTypeJSON})
	}
	event.SetEventResponseStatusCode(code)
}

// controllerRequest returns the history entry for a write of one of the server's own controllers.
func controllerRequest(ctx context.Context, by controller.Identity, verb string, w write.Request) inspect.Request {
	res := w.Version.Resource
	q := inspect.Request{
		Cause: observe.From(ctx).Number(), User: by.User().GetName(), UserAgent: by.UserAgent(), Verb: verb,
		Group: res.Group, Version: w.Version.Name, Resource: res.Names.Plural, Subresource: w.Subresource, Namespace: w.Namespace, Name: w.Name,
	}
	switch change := w.Change.(type) {
	case write.Apply:
		q.Patch = "apply"
	case write.Patch:
		q.Patch = history.PatchWord(string(change.Type))
	}
	return q
}

// noteResult reports the result of a write of one of the server's own controllers.
func noteResult(o *observe.Request, result write.Result, err error) {
	code := http.StatusOK
	if result.Created {
		code = http.StatusCreated
	}
	if errors.Is(err, write.ErrNotServed) {
		code = http.StatusNotFound
	} else if err != nil {
		if fault := faultinjection.Behind(err); fault != "" {
			o.Fault(fault)
		}
		status := view.Status(err)
		code = int(status.Code)
		o.Failed(status)
	}
	o.Responded(code, false)
	o.End()
}
