package rest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// TestAnOpenAPIDocumentIsAnsweredAtItsDeadline has documents that are not built yet at the deadline of the request. What has been built meanwhile is there
// for the next request.
func TestAnOpenAPIDocumentIsAnsweredAtItsDeadline(t *testing.T) {
	c := startInProcess(t)
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	if a := c.serve("POST", definitions, jsonBody, []byte(`{"metadata":{"name":"as.g.io"},"spec":{"group":"g.io","names":{"plural":"as","kind":"A"},"scope":"Cluster",
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)); a.code != 201 {
		t.Fatal(a)
	}
	for _, path := range []string{"/openapi/v2", "/openapi/v3", "/openapi/v3/apis/g.io/v1"} {
		a := c.serve("GET", path+"?timeout=1ns", nil, nil)
		expect(t, path, a.code, 504)
		expect(t, path, a.body, allotted)
		if err := c.handler.Drain(time.Hour); err != nil {
			t.Error(err)
		}
		a = c.serve("GET", path, nil, nil)
		if a.code != 200 || !gjson.Valid(a.body) || !strings.Contains(a.body, "g.io") {
			t.Errorf("%s: %d, %.200s", path, a.code, a.body)
		}
	}
	expect(t, "a document that does not exist", c.serve("GET", "/openapi/v3/apis/none?timeout=1ns", nil, nil).code, 404)
}
