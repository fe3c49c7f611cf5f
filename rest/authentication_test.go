package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/fakecluster/fakecluster/internal/release"
)

func TestAuthentication(t *testing.T) {
	c := start(t)
	c.bearer = ""
	const refused = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}` + "\n"
	for _, tt := range []struct {
		rule, path, authorization string
		code                      int
	}{
		{"no token", "/api", "", 401},
		{"an unknown path", "/nosuch", "", 401},
		{"the version", "/version", "", 401},
		{"a wrong token", "/api", "Bearer wrong", 401},
		{"a token that begins right", "/api", "Bearer " + token + "x", 401},
		{"a token that is cut off", "/api", "Bearer " + token[:4], 401},
		{"an empty token", "/api", "Bearer ", 401},
		{"another scheme", "/api", "Basic " + token, 401},
		{"the token alone", "/api", token, 401},
		{"the token", "/api", "Bearer " + token, 200},
		{"the scheme in lower case", "/api", "bearer " + token, 200},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			header := http.Header{}
			if tt.authorization != "" {
				header.Set("Authorization", tt.authorization)
			}
			a := c.do("GET", tt.path, header, "")
			expect(t, "code", a.code, tt.code)
			if tt.code == 401 {
				expect(t, "body", a.body, refused)
				expect(t, "content type", a.header.Get("Content-Type"), "application/json")
			}
		})
	}
}

// A real server limits the time of a request before it asks who makes it.
func TestAnUnreadableTimeoutIsRefusedBeforeAnythingElse(t *testing.T) {
	c := start(t)
	c.bearer = ""
	for _, tt := range []struct {
		rule, path    string
		authorization string
		code          int
	}{
		{"no token", "/api?timeout=soon", "", 400},
		{"a wrong token", "/api?timeout=soon", "Bearer wrong", 400},
		{"a health check without a token", "/healthz?timeout=soon", "", 400},
		{"a user who may not impersonate", "/api?timeout=soon", "Bearer " + c.server.Users.TokenFor("jane"), 400},
		{"a watch has no time limit", "/api/v1/namespaces?watch=1&timeout=soon", "", 401},
		{"a timeout that can be read", "/api?timeout=5s", "", 401},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			a := c.do("GET", tt.path, http.Header{"Authorization": {tt.authorization}, "Impersonate-User": {"john"}}, "")
			expect(t, "code", a.code, tt.code)
			if tt.code == 400 {
				expect(t, "message", statusOf(t, a).Message, `invalid timeout specified in the request URL - time: invalid duration "soon"`)
			}
		})
	}
}

func TestHealthPathsAnswerToAll(t *testing.T) {
	c := start(t)
	c.bearer = ""
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		a := c.do("GET", path, nil, "")
		expect(t, path, []any{a.code, a.header.Get("Content-Type"), a.header.Get("X-Content-Type-Options"), a.body},
			[]any{200, "text/plain; charset=utf-8", "nosniff", "ok"})
	}
}

func TestVersionIsThatOfTheLibraries(t *testing.T) {
	c := start(t)
	a := c.do("GET", "/version", nil, "")
	expect(t, "content type", a.header.Get("Content-Type"), "application/json")
	var got map[string]string
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatal(err)
	}
	newest := fmt.Sprint(release.Newest().Minor())
	for field, want := range map[string]string{
		"major": "1", "minor": newest, "gitVersion": release.Libraries,
		"emulationMajor": "1", "emulationMinor": newest, "minCompatibilityMajor": "1", "minCompatibilityMinor": fmt.Sprint(release.Newest().Minor() - 1),
	} {
		expect(t, field, got[field], want)
	}
}

func TestAClosedServerRefuses(t *testing.T) {
	c := start(t)
	w := c.open("GET", "/api/v1/namespaces?watch=1&timeoutSeconds=600", nil, "")
	defer w.Body.Close()
	c.server.Close()
	expect(t, "code", c.do("GET", "/api", nil, "").code, http.StatusServiceUnavailable)
}
