package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/internal/release"
)

// counted are the lines of the metric that counts requests, without its name.
func counted(t *testing.T, c *cluster) []string {
	t.Helper()
	a := c.do(http.MethodGet, "/metrics", nil, "")
	if a.code != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %s: %s", a.code, a.header.Get("Content-Type"), a.body)
	}
	var lines []string
	for line := range strings.Lines(a.body) {
		if rest, ok := strings.CutPrefix(line, "apiserver_request_total"); ok {
			lines = append(lines, strings.TrimSuffix(rest, "\n"))
		}
	}
	return lines
}

func TestMetricsCountTheRequestsToTheServer(t *testing.T) {
	c := start(t)
	other := start(t)
	expect(t, "before any request", counted(t, c), []string(nil))
	c.do(http.MethodGet, "/api/v1/namespaces/default", nil, "")
	c.do(http.MethodGet, "/api/v1/namespaces/default", nil, "")
	c.do(http.MethodGet, "/api/v1/namespaces/missing", nil, "")
	c.do(http.MethodPost, "/api/v1/namespaces/default/configmaps?dryRun=All", jsonBody, `{"metadata":{"name":"a"}}`)
	c.do(http.MethodGet, "/api/v1/namespaces/default/configmaps", nil, "")
	c.do(http.MethodGet, "/api/v1/unknown", nil, "")
	c.do(http.MethodGet, "/healthz", nil, "")
	c.do(http.MethodGet, "/healthz/ping", nil, "")
	want := []string{
		`{code="200",component="",dry_run="",group="",resource="",scope="",subresource="/healthz",verb="GET",version=""} 1`,
		`{code="200",component="apiserver",dry_run="",group="",resource="configmaps",scope="namespace",subresource="",verb="LIST",version="v1"} 1`,
		`{code="200",component="apiserver",dry_run="",group="",resource="namespaces",scope="resource",subresource="",verb="GET",version="v1"} 2`,
		`{code="201",component="apiserver",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1`,
		`{code="404",component="apiserver",dry_run="",group="",resource="namespaces",scope="resource",subresource="",verb="GET",version="v1"} 1`,
	}
	expect(t, "counted requests", counted(t, c), want)
	expect(t, "another server", counted(t, other), []string(nil))
	expect(t, "a DELETE", c.do(http.MethodDelete, "/metrics", nil, "").body, "metrics reset\n")
	expect(t, "after it", counted(t, c), []string(nil))
	c.must("GET", "/readyz", "")
	checks := c.must("GET", "/metrics/slis", "")
	if want := `kubernetes_healthcheck{name="etcd",type="readyz"} 1`; !strings.Contains(checks, want) {
		t.Errorf("%s is not in %s", want, checks)
	}
	c.bearer = c.server.Users.TokenFor("jane")
	expect(t, "who may not look", c.do(http.MethodGet, "/metrics", nil, "").code, 403)
}

func TestStatuszListsThePathsOutsideOfTheAPI(t *testing.T) {
	c := start(t)
	a := c.do(http.MethodGet, "/statusz", http.Header{"Accept": {"text/plain"}}, "")
	expect(t, "code", a.code, 200)
	for _, want := range []string{"\napiserver statusz\n", "\nBinary version: " + strings.TrimPrefix(release.Libraries, "v") + "\nEmulation version: " + release.Newest().String() + "\nPaths: /flagz /healthz /livez /metrics /readyz /statusz /version\n"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%q is not in %s", want, a.body)
		}
	}
	c.bearer = c.server.Users.TokenFor("jane")
	expect(t, "who may not look", c.do(http.MethodGet, "/statusz", nil, "").code, 403)
}
