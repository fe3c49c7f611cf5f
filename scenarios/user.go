package scenarios

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/rest"
)

// user is who makes a request, if that is not the administrator of the cluster.
type user struct {
	name    string
	groups  []string
	account string // NAMESPACE/NAME of a service account
	token   any    // a bearer token, or the mark of one
}

// asUser is the field that says who makes a request.
var asUser = &beside{
	"as", "{user, groups}, {serviceAccount} or {token}", "create get list watch update patch apply delete deletecollection",
	"who makes the request: a user of any name, a member of the groups; a service account, written NAMESPACE/NAME; or" +
		" whoever bears the token. Without it the administrator of the cluster does, who may do everything.",
	func(p *parser, n *yaml.Node, r *request) { r.by = p.user(n) },
}

func (p *parser) user(n *yaml.Node) *user {
	u := &user{}
	before := len(p.mistakes)
	p.fields(n, "a user", map[string]func(*yaml.Node){
		"user": func(n *yaml.Node) { u.name = p.text(n) },
		"groups": func(n *yaml.Node) {
			for _, item := range p.items(n, "groups") {
				u.groups = append(u.groups, p.text(item))
			}
		},
		"serviceAccount": func(n *yaml.Node) {
			u.account = p.text(n)
			if namespace, name, _ := strings.Cut(u.account, "/"); u.account != "" && (namespace == "" || name == "") {
				p.mistake(n, "a service account is written NAMESPACE/NAME, and this is %q", u.account)
			}
		},
		"token": func(n *yaml.Node) {
			if n.Tag == tagFrom {
				u.token = p.from(n)
			} else {
				u.token = p.text(n)
			}
		},
	})
	if len(p.mistakes) > before {
		return u
	}
	ways := 0
	for _, given := range []bool{u.name != "", u.account != "", u.token != nil} {
		if given {
			ways++
		}
	}
	if ways != 1 || u.name == "" && u.groups != nil {
		p.mistake(n, "a user is one of {user, groups}, {serviceAccount} and {token}")
	}
	return u
}

// resolve returns a copy of u with its token.
func (u *user) resolve(answers map[string]answer) (*user, error) {
	if u == nil {
		return nil, nil
	}
	token, err := resolve(u.token, answers)
	return &user{u.name, u.groups, u.account, token}, err
}

// config is the configuration of a client of the user.
func (u *user) config(of Cluster) *rest.Config {
	switch {
	case u.account != "":
		namespace, name, _ := strings.Cut(u.account, "/")
		return of.ServiceAccountConfig(namespace, name)
	case u.token != nil:
		cfg := of.RESTConfig()
		cfg.BearerToken = fmt.Sprint(u.token)
		return cfg
	}
	return of.ConfigFor(u.name, u.groups...)
}
