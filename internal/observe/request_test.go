package observe_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// events is a sink that keeps the newest event.
type events struct{ auditinternal.Event }

func (e *events) ProcessEvents(sent ...*auditinternal.Event) bool {
	e.Event = *sent[len(sent)-1].DeepCopy()
	return true
}

// observed makes a request with all subscribers, and a function that returns its context.
func observed(t *testing.T, sink audit.Sink) (*observe.Request, *history.Recorder, context.Context) {
	t.Helper()
	in := history.New(nil, func() int64 { return 1 })
	o := &observe.Request{Entry: in.Begin(inspect.Request{Verb: "create", Resource: "pods"}, 0)}
	o.Explain()
	ctx := o.Audit(t.Context(), observe.Event{
		Sink: sink, Level: auditinternal.LevelMetadata, Received: time.Now(),
		Request: httptest.NewRequest(http.MethodPost, "/api/v1/namespaces/default/pods", nil),
		Info:    &apirequest.RequestInfo{IsResourceRequest: true, Verb: "create", Resource: "pods", Namespace: "default"},
	})
	return o, in, observe.With(ctx, o)
}

func explanationOf(o *observe.Request) inspect.Explanation {
	return o.Explanation(observe.Response{
		Code: 409, Warnings: []string{"careful"},
		Object: func(name string) string { return "pods default/" + name },
		Since: func(int64) []inspect.InterveningWrite {
			return []inspect.InterveningWrite{{Revision: 8, By: "kubectl"}}
		},
	})
}

func TestEachSubscriberTakesTheStagesOfARequest(t *testing.T) {
	sink := &events{}
	o, in, ctx := observed(t, sink)

	o.User(&user.DefaultInfo{Name: "jane", Groups: []string{"team"}})
	o.Impersonated(&user.DefaultInfo{Name: "joe"})
	o.Decision(true, "a role allows it", nil)
	o.Fault("latency of 1s")
	o.Fault("conflict")
	o.Deprecated(&resource.Version{Warnings: []string{"v1beta1 is deprecated"}, RemovedRelease: "1.40"})
	w := o.Write(&resource.Version{}, "", true)
	w.Attempt("kubectl")
	w.Denied("NamespaceLifecycle", errors.New("no such namespace"))
	w.Attempt("kubectl") // what the first attempt found counts no more
	o.Webhook(inspect.WebhookCall{Webhook: "a.example.com", Outcome: "allowed"}, func() inspect.AdmissionStep {
		return inspect.AdmissionStep{Kind: inspect.Webhook, Name: "a.example.com", Outcome: inspect.Allowed}
	})
	o.Annotation("a.example.com/reason", "good", auditinternal.LevelMetadata)
	o.Annotation("a.example.com/patch", "long", auditinternal.LevelRequest)
	w.Overtaken(7, 8)
	w.Warning("careful")
	w.Committed(9)
	o.Failed(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Message: "modified"})
	o.Responded(409, false)
	audit.AuditContextFrom(ctx).ProcessEventStage(ctx, auditinternal.StageResponseComplete)

	wantRequest := inspect.Request{
		Number: 1, Verb: "create", Resource: "pods", User: "joe", Code: 409, Reason: metav1.StatusReasonConflict, Message: "modified",
		Fault: "latency of 1s, conflict", Webhooks: []inspect.WebhookCall{{Webhook: "a.example.com", Outcome: "allowed"}},
		Read: 7, Found: 8, Warnings: []string{"careful"}, Revision: 9, Revisions: 1,
	}
	if diff := cmp.Diff([]inspect.Request{wantRequest}, in.Requests(), cmpopts.IgnoreFields(inspect.Request{}, "Time", "Latency")); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}

	wantExplanation := inspect.Explanation{
		Request: inspect.ExplainedRequest{Manager: "kubectl", DryRun: true, Object: "pods default/"},
		Access:  &inspect.Access{Allowed: true, Reason: "a role allows it"}, Fault: "latency of 1s, conflict", Attempts: 2,
		Admission:   []inspect.AdmissionStep{{Kind: inspect.Webhook, Name: "a.example.com", Outcome: inspect.Allowed}},
		Annotations: map[string]string{"a.example.com/reason": "good", "a.example.com/patch": "long"},
		Overtaken:   &inspect.Overtaken{Sent: 7, Is: 8, By: []inspect.InterveningWrite{{Revision: 8, By: "kubectl"}}},
		Warnings:    []string{"careful"}, Answer: inspect.Answer{Code: 409, Reason: "Conflict", Message: "modified"},
	}
	if diff := cmp.Diff(wantExplanation, explanationOf(o)); diff != "" {
		t.Errorf("the explanation (-want +got):\n%s", diff)
	}

	wantAnnotations := map[string]string{
		"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "a role allows it",
		"k8s.io/deprecated": "true", "k8s.io/removed-release": "1.40", "a.example.com/reason": "good",
	}
	if diff := cmp.Diff(wantAnnotations, sink.Annotations); diff != "" {
		t.Errorf("the annotations of the audit event (-want +got):\n%s", diff)
	}
	if who := sink.User.Username; who != "jane" {
		t.Errorf("the user of the audit event is %q, want jane: the impersonation filter adds joe", who)
	}
}

func TestARefusalAndAnErrorOfTheAuthorizerAreInTheAuditEvent(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want map[string]string
	}{
		"forbidden": {nil, map[string]string{"authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": "no role"}},
		"error":     {errors.New("no store"), map[string]string{"authorization.k8s.io/reason": "internal error"}},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &events{}
			o, _, ctx := observed(t, sink)
			o.Decision(false, "no role", c.err)
			audit.AuditContextFrom(ctx).ProcessEventStage(ctx, auditinternal.StageResponseComplete)
			if diff := cmp.Diff(c.want, sink.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutAnObserverStagesDoNothing(t *testing.T) {
	o := observe.From(context.Background())
	o.User(&user.DefaultInfo{Name: "jane"})
	o.Unauthenticated(&user.DefaultInfo{})
	o.Decision(true, "", nil)
	o.Exempt()
	o.Fault("conflict")
	o.Deprecated(&resource.Version{Warnings: []string{"old"}})
	o.Patch(nil)
	o.Annotation("a", "b", auditinternal.LevelMetadata)
	o.Failed(&metav1.Status{Status: metav1.StatusFailure})
	o.HoldsSecret(t.Context())
	o.Webhook(inspect.WebhookCall{}, nil)
	w := o.Write(&resource.Version{}, "", false)
	w.Attempt("kubectl")
	w.Denied("", nil)
	w.Preparing(nil)
	w.Prepared(t.Context(), nil, nil, nil)
	w.Changed(nil, nil)
	w.Unchanged(nil)
	w.Created(nil)
	w.Overtaken(1, 2)
	w.Committed(3)
	if n := o.Number(); n != 0 || o.Explains() {
		t.Errorf("number %d, explains: %v", n, o.Explains())
	}
}

// An eviction deletes a pod by a write of its own, which would replace the attempt that is explained.
func TestAWriteThatIsPartOfARequestIsNotExplained(t *testing.T) {
	o, in, ctx := observed(t, &events{})
	o.Write(&resource.Version{}, "eviction", false).Attempt("kubectl")
	part := observe.From(observe.Unexplained(ctx)).Write(&resource.Version{}, "", true)
	part.Attempt("kubelet")
	part.Committed(9)
	if got := explanationOf(o); got.Attempts != 1 || got.Request.Manager != "kubectl" {
		t.Errorf("%d attempts by %s, want one by kubectl", got.Attempts, got.Request.Manager)
	}
	if got := in.Requests()[0].Revision; got != 9 {
		t.Errorf("the history has revision %d, want 9", got)
	}
	if ctx := t.Context(); observe.Unexplained(ctx) != ctx {
		t.Error("a request without an explanation got another context")
	}
}
