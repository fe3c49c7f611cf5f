package rest_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestMinusZeroIsZero writes -0.0 wherever a custom object or a definition takes any number. A real server
// stores -0 and reads that as the integer 0. Go's float64 fields keep the sign.
func TestMinusZeroIsZero(t *testing.T) {
	c := startInProcess(t)
	const numbers = "/apis/example.com/v1/namespaces/default/numbers"
	for _, tt := range []struct{ rule, method, path, mediaType, body, want string }{
		{"a definition", "POST", definitionsPath, "application/json",
			`{"metadata":{"name":"numbers.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"numbers","kind":"Number"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true,
			"properties":{"d":{"type":"number","default":-0.0,"minimum":-0.0}}}}}]}}`, `{"d":{"type":"number","default":0,"minimum":-0}}`},
		{"a definition as it is read", "GET", definitionsPath + "/numbers.example.com", "", "", `{"d":{"type":"number","default":0,"minimum":-0}}`},
		{"a dry run", "POST", numbers + "?dryRun=All", "application/json", `{"apiVersion":"example.com/v1","kind":"Number","metadata":{"name":"a"},"z":[-0.0,-0]}`, `"z":[0,0]`},
		{"a create", "POST", numbers, "application/json", `{"apiVersion":"example.com/v1","kind":"Number","metadata":{"name":"a"},"n":{"x":-0e5}}`, `"n":{"x":0}`},
		{"a default", "GET", numbers + "/a", "", "", `"d":0,`},
		{"a merge patch", "PATCH", numbers + "/a", "application/merge-patch+json", `{"n":-0.00}`, `"n":0}`},
		{"a JSON patch", "PATCH", numbers + "/a", "application/json-patch+json", `[{"op":"add","path":"/z","value":-0.0}]`, `"z":0}`},
		{"an apply", "PATCH", numbers + "/b?fieldManager=m", "application/apply-patch+yaml", `{"apiVersion":"example.com/v1","kind":"Number","metadata":{"name":"b"},"n":-0.0}`, `"n":0}`},
		{"a list", "GET", numbers, "", "", `"n":0,"z":0}`},
	} {
		a := c.serve(tt.method, tt.path, http.Header{"Content-Type": {tt.mediaType}}, []byte(tt.body))
		if a.code > 201 || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s: got %d %s, want %s", tt.rule, a.code, a.body, tt.want)
		}
	}
}
