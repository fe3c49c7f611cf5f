package syntax

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// User is the user of a request, if it is not the administrator of the cluster. It may contain marks until it
// is resolved.
type User struct {
	Name    any
	Groups  []any
	Account any // NAMESPACE/NAME of a service account
	Token   any // a bearer token
}

// asUser is the field with the user of a request.
var asUser = &RequestField{
	"as", "{user, groups}, {serviceAccount} or {token}",
	"the user of the request: any user name with groups, a service account as NAMESPACE/NAME, or the user of a token. The" +
		" default is the administrator of the cluster, who may do everything.",
	func(p *parser, n *yaml.Node, r *Request) { r.By = p.user(n) },
}

func (p *parser) user(n *yaml.Node) *User {
	u := &User{}
	before := len(p.mistakes)
	p.fields(n, "a user", map[string]func(*yaml.Node){
		"user": func(n *yaml.Node) { u.Name = p.textOrMark(n) },
		"groups": func(n *yaml.Node) {
			for _, item := range p.items(n, "groups") {
				u.Groups = append(u.Groups, p.textOrMark(item))
			}
		},
		"serviceAccount": func(n *yaml.Node) {
			u.Account = p.textOrMark(n)
			if text, ok := u.Account.(string); ok && text != "" {
				if namespace, name, _ := strings.Cut(text, "/"); namespace == "" || name == "" {
					p.mistake(n, "a service account must have the form NAMESPACE/NAME, not %q", text)
				}
			}
		},
		"token": func(n *yaml.Node) { u.Token = p.textOrMark(n) },
	})
	if len(p.mistakes) > before {
		return u
	}
	ways := 0
	for _, given := range []bool{u.Name != nil, u.Account != nil, u.Token != nil} {
		if given {
			ways++
		}
	}
	if ways != 1 || u.Name == nil && u.Groups != nil {
		p.mistake(n, "a user must be one of {user, groups}, {serviceAccount} and {token}")
	}
	return u
}
