package player

import (
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// resolveUser returns a copy of u without marks.
func resolveUser(u *syntax.User, answers map[string]Answer) (*syntax.User, error) {
	if u == nil {
		return nil, nil
	}
	resolved, err := ResolveItems([]any{u.Name, u.Account, u.Token, u.Groups}, answers)
	if err != nil {
		return nil, err
	}
	groups, _ := resolved[3].([]any)
	return &syntax.User{Name: resolved[0], Groups: groups, Account: resolved[1], Token: resolved[2]}, nil
}

// configOf returns the configuration of a client of the user.
func configOf(u *syntax.User, cluster Backend) *rest.Config {
	switch {
	case u.Account != nil:
		namespace, name, _ := strings.Cut(fmt.Sprint(u.Account), "/")
		return cluster.ServiceAccountConfig(namespace, name)
	case u.Token != nil:
		cfg := cluster.RESTConfig()
		// Remove all credentials of the administrator.
		cfg.BearerToken, cfg.BearerTokenFile, cfg.Username, cfg.Password = fmt.Sprint(u.Token), "", "", ""
		cfg.CertData, cfg.CertFile, cfg.KeyData, cfg.KeyFile = nil, "", nil, ""
		cfg.AuthProvider, cfg.ExecProvider = nil, nil
		return cfg
	}
	groups := make([]string, len(u.Groups))
	for i, group := range u.Groups {
		groups[i] = fmt.Sprint(group)
	}
	return cluster.ConfigFor(fmt.Sprint(u.Name), groups...)
}
