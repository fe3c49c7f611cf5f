package rest_test

import (
	"strings"
	"testing"
)

// TestOptionsOfUnsupportedBody sends bodies of an unsupported media type with invalid options. As on a real server, a create
// rejects the media type, and an update the options.
func TestOptionsOfUnsupportedBody(t *testing.T) {
	c := start(t)
	c.must("POST", definitionsPath, definition(t, "widgets"))
	for _, query := range []string{"?dryRun=foo", "?fieldValidation=strict", "?fieldManager=%00"} {
		for _, tt := range []struct {
			request string
			code    int
		}{
			{"POST /api/v1/namespaces/default/configmaps", 415},
			{"POST /api/v1/namespaces/default/serviceaccounts/a/token", 415},
			{"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 415},
			{"POST " + widgetsPath, 415},
			{"PUT /api/v1/namespaces/default/configmaps/a", 422},
			{"PUT " + widgetsPath + "/a", 422},
		} {
			a := c.serveAs(tt.request+query, "", "foo", "{}")
			expect(t, tt.request+query, a.code, tt.code)
			expect(t, tt.request+query+": "+a.body, strings.Contains(a.body, "accepted media types include"), tt.code == 415)
		}
	}
}
