package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// discard is the connection of a client that reads nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) WriteHeader(int)             {}
func (d discard) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkServe is what the server does for a read between the HTTP library and the store:
// the filters, the way to the verb, and the answer.
func BenchmarkServe(b *testing.B) {
	c := startInProcess(b)
	for n := range 100 {
		body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm-%03d","labels":{"app":"a"}},"data":{"k":"v"}}`, n)
		if a := c.serve("POST", configMapsPath, jsonBody, body); a.code != http.StatusCreated {
			b.Fatal(a.body)
		}
	}
	for _, read := range []struct{ name, path string }{
		{"get", configMapsPath + "/cm-007"},
		{"list of 100", configMapsPath},
		{"list by label", configMapsPath + "?labelSelector=app%3Da"},
		{"discovery", "/api/v1"},
	} {
		b.Run(read.name, func(b *testing.B) {
			req := httptest.NewRequest("GET", read.path, nil)
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Accept", "application/json")
			b.ReportAllocs()
			for b.Loop() {
				c.handler.ServeHTTP(discard{http.Header{}}, req)
			}
		})
	}
}
