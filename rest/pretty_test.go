package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestPrettyStatusOfDelete checks that the Status of a delete is indented exactly if the client asks for that.
func TestPrettyStatusOfDelete(t *testing.T) {
	c := start(t)
	for _, tt := range []struct {
		query, accept string
		pretty        bool
	}{
		{"", "", false},
		{"?pretty=1", "", true},
		{"?pretty=0", "", false},
		{"?pretty=false", "", false},
		{"?pretty=foo", "", false},
		{"?pretty=", "", false},
		{"?prettier=1", "", false},
		{"", "application/json;pretty=1", true},
		{"?pretty=0", "application/json;pretty=1", true},
		{"", "application/json;pretty=0", false},
		{"", "application/json;pretty=1;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", true},
	} {
		const configMaps = "/api/v1/namespaces/default/configmaps"
		c.must("POST", configMaps, `{"metadata":{"name":"a"}}`)
		a := c.serveAs("DELETE "+configMaps+"/a"+tt.query, tt.accept, "", "")
		expect(t, "code", a.code, http.StatusOK)
		expect(t, fmt.Sprintf("%s with Accept %q: %s", tt.query, tt.accept, a.body), strings.HasPrefix(a.body, "{\n  "), tt.pretty)
	}
}
