package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/internal/write"
)

// What a trail keeps: the newest events, and no more of what was sent and answered
// in them.
const (
	maxAuditEvents = 10_000
	maxAuditBytes  = 64 << 20
)

// trail is the audit trail of a server: what upstream's audit filter would have
// written to its log, of one level for all requests and without the stage
// RequestReceived.
type trail struct {
	level auditinternal.Level

	mu     sync.Mutex
	events []auditv1.Event
	bytes  int // of the objects in them
}

func newTrail(level auditinternal.Level) *trail {
	if level == "" || level == auditinternal.LevelNone {
		return nil
	}
	return &trail{level: level}
}

// AuditEvents are the newest events of the audit trail, in the order in which the
// requests were answered.
func (s *Server) AuditEvents() []auditv1.Event {
	if s.trail == nil {
		return nil
	}
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	events := make([]auditv1.Event, len(s.trail.events))
	for i := range events {
		s.trail.events[i].DeepCopyInto(&events[i])
	}
	return events
}

// ProcessEvents implements audit.Sink.
func (t *trail) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, e := range events {
		var out auditv1.Event
		if err := auditv1.Convert_audit_Event_To_v1_Event(e.DeepCopy(), &out, nil); err != nil {
			klog.ErrorS(err, "An audit event cannot be converted")
			continue
		}
		out.SetGroupVersionKind(auditv1.SchemeGroupVersion.WithKind("Event"))
		t.keep(out)
	}
	return true
}

// keep adds an event, and lets go of the oldest if there are too many.
func (t *trail) keep(e auditv1.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
	t.bytes += objectBytes(&e)
	for len(t.events) > maxAuditEvents || t.bytes > maxAuditBytes && len(t.events) > 1 {
		t.bytes -= objectBytes(&t.events[0])
		t.events[0] = auditv1.Event{}
		t.events = t.events[1:]
	}
}

func objectBytes(e *auditv1.Event) (n int) {
	for _, obj := range []*runtime.Unknown{e.RequestObject, e.ResponseObject} {
		if obj != nil {
			n += len(obj.Raw)
		}
	}
	return n
}

// begin opens the event of a request. The answer has to be written to the writer
// that is returned, and finish called then.
func (t *trail) begin(w http.ResponseWriter, req *http.Request) (_ *auditedWriter, _ *http.Request, finish func()) {
	ctx := t.open(req.Context(), types.UID(req.Header.Get("Audit-Id")))
	ac := audit.AuditContextFrom(ctx)
	w.Header().Set("Audit-Id", string(ac.AuditID()))
	a := &auditedWriter{ResponseWriter: w, ctx: ctx, ac: ac}
	return a, req.WithContext(ctx), func() {
		if p := recover(); p != nil {
			defer panic(p)
			ac.SetEventResponseStatus(&metav1.Status{
				Code: http.StatusInternalServerError, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError,
				Message: fmt.Sprintf("APIServer panic'd: %v", p),
			})
			ac.ProcessEventStage(ctx, auditinternal.StagePanic)
			return
		}
		a.finish()
	}
}

// open makes the event of a request whose context has none.
func (t *trail) open(ctx context.Context, id types.UID) context.Context {
	if id == "" {
		id = uuid.NewUUID()
	}
	ctx = audit.WithAuditContext(ctx)
	if err := audit.AuditContextFrom(ctx).Init(audit.RequestAuditConfig{Level: t.level}, t); err != nil {
		panic(err) // it is new
	}
	audit.WithAuditID(ctx, id)
	return ctx
}

// describe says in the event who asks for what. Everybody who is known may do
// everything.
func (s *Server) describe(ctx context.Context, req *http.Request, by user.Info, info *apirequest.RequestInfo) {
	if s.trail == nil {
		return
	}
	audit.LogRequestMetadata(ctx, req, s.now().Time, authorizer.AttributesRecord{
		User: by, Verb: info.Verb, Namespace: info.Namespace, APIGroup: info.APIGroup, APIVersion: info.APIVersion,
		Resource: info.Resource, Subresource: info.Subresource, Name: info.Name, ResourceRequest: info.IsResourceRequest, Path: req.URL.Path,
	})
	if by != nil {
		audit.AddAuditAnnotations(ctx, "authorization.k8s.io/decision", "allow", "authorization.k8s.io/reason", "")
	}
}

// logDeprecation says in the event that the version which is asked for is on its
// way out.
func (r *request) logDeprecation() {
	if r.trail == nil || len(r.version.Warnings) == 0 {
		return
	}
	audit.AddAuditAnnotation(r.ctx, "k8s.io/deprecated", "true")
	if gone := removedRelease.FindStringSubmatch(r.version.Warnings[0]); r.version.Typed && gone != nil {
		audit.AddAuditAnnotation(r.ctx, "k8s.io/removed-release", gone[1])
	}
}

// removedRelease is the release that took a built-in version away, in the words
// that warn of it.
var removedRelease = regexp.MustCompile(`unavailable in v([0-9.]+[0-9])`)

// logObject puts what was sent into the event.
func (r *request) logObject(obj runtime.Object, as runtime.NegotiatedSerializer) {
	if r.trail != nil {
		audit.LogRequestObject(r.ctx, obj, obj.GetObjectKind().GroupVersionKind().GroupVersion(),
			r.version.GroupVersionResource(), r.info.Subresource, as)
	}
}

// auditedWriter reads along in an answer.
type auditedWriter struct {
	http.ResponseWriter
	ctx  context.Context
	ac   *audit.AuditContext
	code int
	body bytes.Buffer

	longRunning bool
	// status and object are what was answered, where the one who answered has told.
	status *metav1.Status
	object string
}

// tellStatus and tellObject tell the event what is answered, whatever form it takes
// on the wire.
func tellStatus(w http.ResponseWriter, obj runtime.Object) {
	if a, ok := w.(*auditedWriter); ok {
		a.status, _ = obj.(*metav1.Status)
	}
}

func tellObject(w http.ResponseWriter, text string) {
	if a, ok := w.(*auditedWriter); ok {
		a.object = text
	}
}

// Unwrap is for http.ResponseController.
func (a *auditedWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *auditedWriter) WriteHeader(code int) {
	a.started(code)
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *auditedWriter) Write(p []byte) (int, error) {
	a.started(http.StatusOK)
	if !a.longRunning {
		a.body.Write(p)
	}
	return a.ResponseWriter.Write(p)
}

// Flush implements http.Flusher, which watches need.
func (a *auditedWriter) Flush() {
	a.started(http.StatusOK)
	_ = http.NewResponseController(a.ResponseWriter).Flush() // the client may have gone
}

// started tells of the answer to a watch, which is under way for long.
func (a *auditedWriter) started(code int) {
	if a.code != 0 {
		return
	}
	a.code = code
	a.ac.SetEventResponseStatusCode(int32(code))
	if a.longRunning {
		a.ac.ProcessEventStage(a.ctx, auditinternal.StageResponseStarted)
	}
}

// finish completes the event with the answer.
func (a *auditedWriter) finish() {
	answered := []byte(a.object)
	if media, _, _ := strings.Cut(a.Header().Get("Content-Type"), ";"); media == runtime.ContentTypeJSON {
		answered = bytes.TrimSuffix(a.body.Bytes(), []byte("\n"))
	}
	var obj *runtime.Unknown
	if json.Valid(answered) {
		obj = &runtime.Unknown{Raw: answered, ContentType: runtime.ContentTypeJSON}
	}
	a.ac.LogResponseObject(a.status, obj)
	switch {
	case a.code != 0:
		a.ac.SetEventResponseStatusCode(int32(a.code))
	default:
		a.ac.SetEventResponseStatus(&metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess, Message: "Connection closed early"})
	}
	a.ac.ProcessEventStage(a.ctx, auditinternal.StageResponseComplete)
}

// audited opens the event of a write of the server's own. The function returned
// closes it with what the write came to.
func (s *Server) audited(ctx context.Context, verb string, w write.Request) (_ context.Context, finish func(error)) {
	if s.trail == nil {
		return ctx, func(error) {}
	}
	ctx = s.trail.open(ctx, "")
	gv := w.Version.GroupVersion()
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	if w.Version.Resource.Namespaced {
		path += "/namespaces/" + w.Namespace
	}
	path += "/" + w.Version.Resource.Names.Plural + "/" + w.Name
	if w.Subresource != "" {
		path += "/" + w.Subresource
	}
	by, _ := apirequest.UserFrom(ctx)
	s.describe(ctx, &http.Request{URL: &url.URL{Path: path}, Header: http.Header{}}, by, &apirequest.RequestInfo{
		IsResourceRequest: true, Verb: verb, Namespace: w.Namespace, APIGroup: gv.Group, APIVersion: gv.Version,
		Resource: w.Version.Resource.Names.Plural, Subresource: w.Subresource, Name: w.Name,
	})
	return ctx, func(err error) {
		ac := audit.AuditContextFrom(ctx)
		ac.SetEventResponseStatusCode(http.StatusOK)
		if err != nil {
			ac.LogResponseObject(toStatus(err), nil)
		}
		ac.ProcessEventStage(ctx, auditinternal.StageResponseComplete)
	}
}
