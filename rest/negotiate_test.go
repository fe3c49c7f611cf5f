package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serveAs sends a request with an Accept and a Content-Type; empty: without the header.
func (c *cluster) serveAs(request, accept, contentType, body string) answer {
	c.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	header := http.Header{}
	if accept != "" {
		header.Set("Accept", accept)
	}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	return c.serve(method, path, header, []byte(body))
}

// TestRoutesByMediaType checks the answers to media types that no route has, and to those that a handler rejects. The codes and
// messages are those of a real 1.37.1.
func TestRoutesByMediaType(t *testing.T) {
	const (
		available = "406: Not Acceptable\n\nAvailable representations: "
		object    = available + "application/json, application/yaml, application/vnd.kubernetes.protobuf"
		stream    = object + ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
		handler   = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
		noType    = "415: Unsupported Media Type"
		patches   = "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
		warned    = `299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"`
		foo       = "application/json;as=Foo;v=v1;g=meta.k8s.io"
		namespace = "/api/v1/namespaces/default/"
		scale     = "/apis/apps/v1/namespaces/default/deployments/a/scale"
	)
	c := start(t)
	c.must("POST", definitionsPath, definition(t, "widgets"))
	for _, tt := range []struct{ request, accept, contentType, message, warning string }{
		{"GET " + namespace + "configmaps/a", "application/*", "", object, ""},
		{"GET " + namespace + "configmaps/a", "foo, application/*", "", object, ""},
		{"GET " + namespace + "configmaps", "application/*", "", stream, ""},
		{"GET " + namespace + "configmaps?watch=1", "application/*", "", stream, ""},
		{"POST " + namespace + "configmaps", "application/*", "foo", object, ""},
		{"PUT " + namespace + "configmaps/a", "application/*", "", object, ""},
		{"PATCH " + namespace + "configmaps/a", "application/*", "application/merge-patch+json", object, ""},
		{"PATCH " + namespace + "configmaps/a", "application/*", "foo", noType, ""},
		{"DELETE " + namespace + "configmaps/a", "application/*", "", object, ""},
		{"POST " + namespace + "pods/a/eviction", "application/*", "", object, ""},
		{"GET " + scale, "foo", "", object, ""},
		{"GET " + scale, foo, "", handler, ""},
		{"PATCH " + scale, "foo", "application/merge-patch+json", object, ""},
		{"GET " + namespace + "pods/nosuch/log", "foo", "", strings.Replace(object, available, available+"text/plain, ", 1), ""},
		{"GET " + namespace + "pods/nosuch/log", "text/plain", "", handler, ""},
		{"GET " + namespace + "pods/nosuch/log", "application/json;as=Table;v=v1;g=meta.k8s.io", "", handler, ""},
		{"GET " + widgetsPath + "/a", "foo", "", handler, ""},
		{"GET " + widgetsPath + "/a", "application/*", "", `widgets.example.com "a" not found`, ""},
		{"PATCH " + widgetsPath + "/a", "foo", "foo", patches, ""},
		{"PATCH " + widgetsPath + "/", "", "foo", patches, ""},
		{"PATCH " + widgetsPath + "/%25", "", "foo", patches, ""},
		{"GET " + namespace + "endpoints/a", foo, "", handler, warned},
		{"GET " + namespace + "endpoints/a", "foo", "", object, ""},
		{"POST " + namespace + "endpoints", foo, "", handler, warned},
		{"PUT " + namespace + "endpoints/%25", foo, "", handler, warned},
		{"GET " + namespace + "endpoints/%25", "", "", `Name parameter invalid: "%": may not contain '%'`, warned},
		{"PUT /api/v1/nodes//status", "foo", "", object, ""},
		{"PATCH /api/v1/nodes//status", "", "foo", noType, ""},
		{"PUT /api/v1/nodes//status", "", "", "name must be provided", ""},
		{"GET /api", "foo", "", object, ""},
		{"GET /api", "application/*", "", object, ""},
		{"GET /api", "", "foo", noType, ""},
		{"GET /api", foo, "", handler, ""},
		{"GET /api/v1", "application/*", "", object, ""},
		{"GET /apis/apps/v1", "application/*", "", object, ""},
		{"GET /apis/apps/v1", "foo", "foo", noType, ""},
		{"GET /apis/apps", "foo", "", handler, ""},
		{"GET /apis/apps", "application/*", "foo", "", ""},
		{"GET /apis", "application/*", "foo", "", ""},
		{"GET /apis/example.com/v1", "application/*", "foo", "", ""},
		{"GET /version", "application/*", "", available + "application/json", ""},
		{"GET /version", "", "foo", noType, ""},
	} {
		what := fmt.Sprintf("%s with Accept %q and Content-Type %q", tt.request, tt.accept, tt.contentType)
		a := c.serveAs(tt.request, tt.accept, tt.contentType, "")
		var status metav1.Status
		if err := json.Unmarshal([]byte(a.body), &status); err != nil {
			t.Errorf("%s: %v: %s", what, err, a.body)
			continue
		}
		expect(t, what, status.Message, tt.message)
		expect(t, what+": warning", a.header.Get("Warning"), tt.warning)
		if strings.HasPrefix(tt.message, available) {
			expect(t, what+": details", status.Details, &metav1.StatusDetails{})
		}
	}
}
