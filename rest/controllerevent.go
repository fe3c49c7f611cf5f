package rest

import (
	"context"
	"net/http"
	"net/url"
	"time"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/write"
)

// open opens the event of a write of one of the server's own controllers. The function that it
// returns closes the event with what the write came to.
func (t *trail) open(ctx context.Context, received time.Time, verb string, w write.Request) (_ context.Context, finish func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx = t.newEvent(ctx, "")
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
	logRequest(ctx, &http.Request{URL: &url.URL{Path: path}, Header: http.Header{}}, &apirequest.RequestInfo{
		IsResourceRequest: true, Verb: verb, Namespace: w.Namespace, APIGroup: gv.Group, APIVersion: gv.Version,
		Resource: w.Version.Resource.Names.Plural, Subresource: w.Subresource, Name: w.Name,
	}, received, by)
	return ctx, func(err error) {
		ac := audit.AuditContextFrom(ctx)
		ac.SetEventResponseStatusCode(http.StatusOK)
		if err != nil {
			ac.LogResponseObject(toStatus(err), nil)
		}
		ac.ProcessEventStage(ctx, auditinternal.StageResponseComplete)
	}
}
