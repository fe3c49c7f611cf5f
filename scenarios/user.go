package scenarios

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/rest"
)

// user is who makes a request, if that is not the administrator of the cluster. Until it is
// resolved, marks may stand in it.
type user struct {
	name    any
	groups  []any
	account any // NAMESPACE/NAME of a service account
	token   any // a bearer token
}

// asUser is the field that says who makes a request.
var asUser = &beside{
	"as", "{user, groups}, {serviceAccount} or {token}", "create get list watch update patch apply delete deletecollection scale status finalize evict absent count events",
	"who makes the request: a user of any name, a member of the groups; a service account, written NAMESPACE/NAME; or" +
		" whoever bears the token. Without it the administrator of the cluster does, who may do everything.",
	func(p *parser, n *yaml.Node, r *request) { r.by = p.user(n) },
}

func (p *parser) user(n *yaml.Node) *user {
	u := &user{}
	before := len(p.mistakes)
	p.fields(n, "a user", map[string]func(*yaml.Node){
		"user": func(n *yaml.Node) { u.name = p.textOrMark(n) },
		"groups": func(n *yaml.Node) {
			for _, item := range p.items(n, "groups") {
				u.groups = append(u.groups, p.textOrMark(item))
			}
		},
		"serviceAccount": func(n *yaml.Node) {
			u.account = p.textOrMark(n)
			if text, ok := u.account.(string); ok && text != "" {
				if namespace, name, _ := strings.Cut(text, "/"); namespace == "" || name == "" {
					p.mistake(n, "a service account is written NAMESPACE/NAME, and this is %q", text)
				}
			}
		},
		"token": func(n *yaml.Node) { u.token = p.textOrMark(n) },
	})
	if len(p.mistakes) > before {
		return u
	}
	ways := 0
	for _, given := range []bool{u.name != nil, u.account != nil, u.token != nil} {
		if given {
			ways++
		}
	}
	if ways != 1 || u.name == nil && u.groups != nil {
		p.mistake(n, "a user is one of {user, groups}, {serviceAccount} and {token}")
	}
	return u
}

// resolve returns a copy of u without marks.
func (u *user) resolve(answers map[string]answer) (*user, error) {
	if u == nil {
		return nil, nil
	}
	resolved, err := resolveItems([]any{u.name, u.account, u.token, u.groups}, answers)
	if err != nil {
		return nil, err
	}
	groups, _ := resolved[3].([]any)
	return &user{resolved[0], groups, resolved[1], resolved[2]}, nil
}

// config is the configuration of a client of the user.
func (u *user) config(of Cluster) *rest.Config {
	switch {
	case u.account != nil:
		namespace, name, _ := strings.Cut(fmt.Sprint(u.account), "/")
		return of.ServiceAccountConfig(namespace, name)
	case u.token != nil:
		cfg := of.RESTConfig()
		// Of the administrator's credentials none may be left.
		cfg.BearerToken, cfg.BearerTokenFile, cfg.Username, cfg.Password = fmt.Sprint(u.token), "", "", ""
		cfg.CertData, cfg.CertFile, cfg.KeyData, cfg.KeyFile = nil, "", nil, ""
		cfg.AuthProvider, cfg.ExecProvider = nil, nil
		return cfg
	}
	groups := make([]string, len(u.groups))
	for i, group := range u.groups {
		groups[i] = fmt.Sprint(group)
	}
	return of.ConfigFor(fmt.Sprint(u.name), groups...)
}
