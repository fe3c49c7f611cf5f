package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestRoutes sends each method to each path. The codes are those of a real 1.37.1: a path without a route is
// 404, a method without one 405, and custom resources take any method and longer paths.
func TestRoutes(t *testing.T) {
	c := startInProcess(t)
	serve := func(method, path, body string) answer {
		header := http.Header{"Content-Type": {"application/json"}}
		if method == "PATCH" {
			header.Set("Content-Type", "application/merge-patch+json")
		}
		return c.serve(method, path, header, []byte(body))
	}
	const namespace = "/api/v1/namespaces/default/"
	for _, object := range [][2]string{
		{definitionsPath, definition(t, "widgets")},
		{namespace + "serviceaccounts", `{"metadata":{"name":"a"}}`},
		{namespace + "configmaps", `{"metadata":{"name":"a"}}`},
		{namespace + "pods", `{"metadata":{"name":"a"},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"}]}}`},
		{widgetsPath, widget("a")},
	} {
		if a := serve("POST", object[0], object[1]); a.code != 201 {
			t.Fatal(a.body)
		}
	}
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	for _, tt := range []struct{ path, codes string }{
		{"/api/v1/configmaps", "200 405 405 405 405 405 405"},
		{"/api/v1/configmaps/a", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/configmaps", "200 405 422 405 405 200 405"},
		{"/api/v1/namespaces/default/configmaps/", "200 405 422 405 405 200 405"},
		{"/api/v1/namespaces/default/configmaps/a", "200 405 405 400 200 200 405"},
		{"/api/v1/namespaces/default/configmaps/a/b", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces//configmaps", "200 405 422 405 405 400 405"},
		{"/api/v1/namespaces//configmaps/a", "400 405 405 400 400 400 405"},
		{"/api/v1/namespaces/default/nodes", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/nodes/a", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/namespaces", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/namespaces/a", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/status", "200 405 405 400 200 405 405"},
		{"/api/v1/namespaces/default/status/a", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/finalize", "405 405 405 400 405 405 405"},
		{"/api/v1/namespaces//status", "400 405 405 400 400 405 405"},
		{"/api/v1/nodes/a/status/b", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/serviceaccounts/a/token", "405 405 201 405 405 405 405"},
		{"/api/v1/namespaces/default/serviceaccounts/a/token/b", "404 404 404 404 404 404 404"},
		{"/api/v1/serviceaccounts/a/token", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/pods/a/status", "200 405 405 400 200 405 405"},
		{"/api/v1/namespaces/default/pods/a/status/b", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/pods/a/eviction/b", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/pods/a/log", "204 405 405 405 405 405 405"},
		{"/api/v1/namespaces/default/pods/a/log/b", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/pods/a/exec", "400 405 400 405 405 405 405"},
		{"/api/v1/namespaces/default/pods/a/exec/b", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/pods/a/proxy", "400 400 400 400 400 400 400"},
		{"/api/v1/namespaces/default/pods/a/proxy/b/c", "400 400 400 400 400 400 400"},
		{"/api/v1/namespaces/default/pods/a//b", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/pods//status", "400 405 405 400 400 405 405"},
		{"/api/v1/watch/configmaps", "200 405 405 405 405 405 405"},
		{"/api/v1/watch/configmaps/a", "404 404 404 404 404 404 404"},
		{"/api/v1/watch/namespaces/default/configmaps", "200 405 405 405 405 405 405"},
		{"/api/v1/watch/namespaces/default/configmaps/a", "200 405 405 405 405 405 405"},
		{"/api/v1/watch/namespaces/default/configmaps/a/b", "404 404 404 404 404 404 404"},
		{"/api/v1/watch/namespaces/default/pods/a/status", "404 404 404 404 404 404 404"},
		{"/api/v1/watch/namespaces", "200 405 405 405 405 405 405"},
		{"/api/v1/watch/namespaces/default", "200 405 405 405 405 405 405"},
		{"/api/v1/watch/namespaces/default/status", "404 404 404 404 404 404 404"},
		{"/api/v1/watch/componentstatuses", "404 404 404 404 404 404 404"},
		{"/api/v1/watch/namespaces/default/bindings", "404 404 404 404 404 404 404"},
		{"/api/v1/componentstatuses", "200 405 405 405 405 405 405"},
		{"/api/v1/bindings", "404 404 404 404 404 404 404"},
		{"/api/v1/namespaces/default/bindings", "405 405 500 405 405 405 405"},
		{"/api/v1/proxy/namespaces/default/pods/a", "404 404 404 404 404 404 404"},
		{"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "405 405 422 405 405 405 405"},
		{"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/a", "404 404 404 404 404 404 404"},
		{"/apis/apiextensions.k8s.io/v1/watch/customresourcedefinitions/widgets.example.com", "200 405 405 405 405 405 405"},
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com/status/a", "404 404 404 404 404 404 404"},
		{"/apis/example.com/v1/widgets", "200 200 404 404 404 404 404"},
		{"/apis/example.com/v1/watch/widgets", "200 200 200 200 200 200 200"},
		{"/apis/example.com/v1/watch/namespaces/default/widgets/a", "200 200 200 200 200 200 200"},
		{"/apis/example.com/v1/watch/namespaces/default/widgets/a/status", "405 405 405 405 405 405 405"},
		{"/apis/example.com/v1/namespaces/default/widgets/a/status/b", "200 200 405 400 200 405 405"},
		{"/version//", "200 405 405 405 405 405 405"},
		{"/version/a", "404 404 404 404 404 404 404"},
		{"/openid/v1/jwks/a", "404 404 404 404 404 404 404"},
		{"/index.html", "200 200 200 200 200 200 200"},
		{"/apis/example.com/v1/namespaces/default/widgets//status", "405 405 405 400 400 405 405"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			var codes []string
			for _, method := range methods {
				body := ""
				if method[0] == 'P' {
					body = "{}"
				}
				codes = append(codes, fmt.Sprint(serve(method, tt.path+"?timeoutSeconds=-1&dryRun=All", body).code))
			}
			expect(t, strings.Join(methods, " "), strings.Join(codes, " "), tt.codes)
		})
	}
}
