package rest_test

import (
	"testing"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/store"
)

func TestAQuestionForTheHealthHasAnEvent(t *testing.T) {
	for _, tt := range []struct{ rule, path, bearer, user, group string }{
		{"without a token", "/healthz", "", "system:anonymous", "system:unauthenticated"},
		{"with the token", "/readyz", token, "kubernetes-admin", "system:masters"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c := start(t, func(o *options, _ *store.Options) { o.AuditLevel = auditinternal.LevelMetadata })
			c.bearer = tt.bearer
			a := c.do("GET", tt.path, nil, "")
			expect(t, "answer", []any{a.code, a.body, a.header.Get("Cache-Control")}, []any{200, "ok", "no-cache, private"})
			events := c.server.Audit.Events()
			if len(events) != 1 {
				t.Fatalf("%d events, want 1", len(events))
			}
			e := events[0]
			expect(t, "event", []any{e.Verb, e.RequestURI, e.User.Username, e.User.Groups[0], e.ResponseStatus.Code, string(e.AuditID)},
				[]any{"get", tt.path, tt.user, tt.group, int32(200), a.header.Get("Audit-Id")})
		})
	}
}

func TestAQuestionForTheHealthIsAuthorizedIfItHasCredentials(t *testing.T) {
	modes, err := authorization.NewModes(authorization.Options{Modes: []string{"AlwaysDeny"}})
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, func(o *options, _ *store.Options) { o.Modes = modes })
	for _, tt := range []struct {
		rule, bearer string
		code         int
	}{
		{"none", "", 200},
		{"wrong ones", "guessed", 401},
		{"those of a user who may not", c.server.Users.TokenFor("jane"), 403},
		{"those of the administrator", token, 200},
	} {
		c.bearer = tt.bearer
		for _, path := range []string{"/healthz", "/livez", "/readyz"} {
			expect(t, tt.rule+" at "+path, c.do("GET", path, nil, "").code, tt.code)
		}
	}
	c.bearer = ""
	expect(t, "a single check without credentials", c.do("GET", "/healthz/ping", nil, "").code, 401)
}
