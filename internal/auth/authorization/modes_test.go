package authorization_test

import (
	"context"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
)

func TestModes(t *testing.T) {
	for _, c := range []struct {
		rule  string
		modes []string
		jane  string
		admin string
		err   string
	}{
		{"RBAC is the mode", nil, "NoOpinion", "Allow", ""},
		{"AlwaysAllow allows", []string{"AlwaysAllow"}, "Allow", "Allow", ""},
		{"AlwaysDeny allows members of system:masters alone", []string{"AlwaysDeny"}, "NoOpinion alwaysdeny: Everything is forbidden.", "Allow", ""},
		{"the first mode with an opinion decides", []string{"AlwaysDeny", "RBAC", "AlwaysAllow"}, "Allow", "Allow", ""},
		{"Node has no opinion about those who are not nodes", []string{"Node", "AlwaysDeny"}, "NoOpinion alwaysdeny: Everything is forbidden.", "Allow", ""},
		{"ABAC needs its policies", []string{"ABAC"}, "", "", "authorization-mode ABAC's authorization policy file not passed"},
		{"Webhook needs to know where it is", []string{"Webhook"}, "", "", "authorization-mode Webhook's authorization config file not passed"},
		{"a mode is refused that there is not", []string{"Dice"}, "", "", `authorization-mode "Dice" is not a valid mode`},
		{"and one that is given twice", []string{"RBAC", "RBAC"}, "", "", `authorization-mode ["RBAC" "RBAC"] has mode specified more than once`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			modes, err := authorization.NewModes(authorization.Options{Modes: c.modes})
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("error %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t)
			by, err := modes.By(w.rules)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(u user.Info) string {
				decision, reason, err := by.Authorize(context.Background(), authorizer.AttributesRecord{User: u, Verb: "get", Path: "/"})
				if err != nil {
					t.Error(err)
				}
				said := map[authorizer.Decision]string{authorizer.DecisionAllow: "Allow", authorizer.DecisionDeny: "Deny", authorizer.DecisionNoOpinion: "NoOpinion"}[decision]
				if decision != authorizer.DecisionAllow && reason != "" {
					said += " " + reason
				}
				return said
			}
			if got := ask(&user.DefaultInfo{Name: "jane"}); got != c.jane {
				t.Errorf("jane: %s, want %s", got, c.jane)
			}
			if got := ask(authentication.Admin); got != c.admin {
				t.Errorf("the administrator: %s, want %s", got, c.admin)
			}
		})
	}
}
