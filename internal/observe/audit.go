package observe

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Event is the audit event of a request. The unexported methods of a nil Event do nothing.
type Event struct {
	// Sink receives the event at each stage of auditing.
	Sink  audit.Sink
	Level auditinternal.Level
	// Request has the header Audit-Id if the client has chosen the ID of the event.
	Request  *http.Request
	Info     *apirequest.RequestInfo
	Received time.Time

	ctx context.Context // has the event for upstream's code
}

// Audit adds an audit event to the request, and returns a context with the event. It must be called before the stages
// that the event covers.
func (r *Request) Audit(ctx context.Context, e Event) context.Context {
	e.ctx = audit.WithAuditContext(ctx)
	if err := audit.AuditContextFrom(e.ctx).Init(audit.RequestAuditConfig{Level: e.Level}, e.Sink); err != nil {
		panic(err) // a new event always initializes
	}
	id := types.UID(e.Request.Header.Get("Audit-Id"))
	if id == "" {
		id = uuid.NewUUID()
	}
	audit.WithAuditID(e.ctx, id)
	e.requestedBy(nil)
	r.event = &e
	return e.ctx
}

// requestedBy adds the request and its user to the event; a nil user is not authenticated yet.
func (e *Event) requestedBy(by user.Info) {
	if e == nil {
		return
	}
	audit.LogRequestMetadata(e.ctx, e.Request, e.Received, authorizer.AttributesRecord{
		User: by, Verb: e.Info.Verb, Namespace: e.Info.Namespace, APIGroup: e.Info.APIGroup, APIVersion: e.Info.APIVersion,
		Resource: e.Info.Resource, Subresource: e.Info.Subresource, Name: e.Info.Name, ResourceRequest: e.Info.IsResourceRequest, Path: e.Request.URL.Path,
	})
}

// decided adds the decision of the authorizer to the event.
func (e *Event) decided(allowed bool, reason string, err error) {
	switch {
	case e == nil:
	case allowed:
		audit.AddAuditAnnotations(e.ctx, "authorization.k8s.io/decision", "allow", "authorization.k8s.io/reason", reason)
	case err != nil:
		audit.AddAuditAnnotation(e.ctx, "authorization.k8s.io/reason", "internal error")
	default:
		audit.AddAuditAnnotations(e.ctx, "authorization.k8s.io/decision", "forbid", "authorization.k8s.io/reason", reason)
	}
}

// Unauthenticated reports that the request is served without authentication, as that of a user.
func (r *Request) Unauthenticated(as user.Info) {
	r.event.requestedBy(as)
	r.Exempt()
}

// Deprecated reports the version of the request, if it is deprecated.
func (r *Request) Deprecated(v *resource.Version) {
	if r.event == nil || len(v.Warnings) == 0 {
		return
	}
	audit.AddAuditAnnotation(r.event.ctx, "k8s.io/deprecated", "true")
	if v.RemovedRelease != "" {
		audit.AddAuditAnnotation(r.event.ctx, "k8s.io/removed-release", v.RemovedRelease)
	}
}

// Object reports the object in the body of the request, in a version that the serializer encodes.
func (r *Request) Object(obj runtime.Object, gv schema.GroupVersion, resource schema.GroupVersionResource, subresource string, serializer runtime.NegotiatedSerializer) {
	if r.event != nil {
		audit.LogRequestObject(r.event.ctx, obj, gv, resource, subresource, serializer)
	}
}

// Patch reports the patch in the body of the request.
func (r *Request) Patch(patch []byte) {
	if r.event != nil {
		audit.LogRequestPatch(r.event.ctx, patch)
	}
}

// Panicked closes the event in the context with a panic.
func Panicked(ctx context.Context, p any) {
	event := audit.AuditContextFrom(ctx)
	event.SetEventResponseStatus(&metav1.Status{
		Code: http.StatusInternalServerError, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError,
		Message: fmt.Sprintf("APIServer panic'd: %v", p),
	})
	event.ProcessEventStage(ctx, auditinternal.StagePanic)
}
