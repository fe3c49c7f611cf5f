package rest

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	"github.com/fakecluster/fakecluster/internal/audittrail"
)

// A filter behind that of the audit trail may put a writer of its own around the answer, which
// knows nothing of events.
func TestAnEventHasTheStatusOfAnAnswerThatAFilterHasWrapped(t *testing.T) {
	wrap := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			next.ServeHTTP(struct{ http.ResponseWriter }{w}, req)
		})
	}
	trail := audittrail.New(auditinternal.LevelMetadata, nil, time.Now)
	h := behind([]filter{giveContext(nil), parsePath, recordEvent(trail, time.Now), wrap}, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		writeError(w, req, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a"))
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/v1/namespaces/default/pods/a", nil))
	events := trail.Events()
	if len(events) != 1 {
		t.Fatalf("%d events, want 1", len(events))
	}
	s := events[0].ResponseStatus
	if s.Code != 404 || s.Reason != metav1.StatusReasonNotFound || s.Message != `pods "a" not found` {
		t.Errorf("the status in the event is %v", s)
	}
}
