package auth

import (
	"maps"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	rbacv1helpers "k8s.io/kubernetes/pkg/apis/rbac/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/fakecluster/fakecluster/inspect"
)

// attributesOf returns the attributes that upstream compares with rules.
func attributesOf(a inspect.AccessRequest) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		Verb: a.Verb, APIGroup: a.Group, Resource: a.Resource, Subresource: a.Subresource,
		Namespace: a.Namespace, Name: a.Name, Path: a.Path, ResourceRequest: a.Path == "",
	}
}

// everybodys returns the rules that every user has in a new cluster.
var everybodys = sync.OnceValue(func() (rules []rbacv1.PolicyRule) {
	roles := map[string][]rbacv1.PolicyRule{}
	for _, r := range bootstrappolicy.ClusterRoles() {
		roles[r.Name] = r.Rules
	}
	for _, b := range bootstrappolicy.ClusterRoleBindings() {
		if slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Kind == rbacv1.GroupKind && s.Name == user.AllAuthenticated }) {
			rules = append(rules, roles[b.RoleRef.Name]...)
		}
	}
	return rules
})

// OwnRights returns the requests that need more than the rights that every user has.
func OwnRights(requests []inspect.AccessRequest) []inspect.AccessRequest {
	return slices.DeleteFunc(slices.Clone(requests), func(a inspect.AccessRequest) bool { return rbac.RulesAllow(attributesOf(a), everybodys()...) })
}

// LeastRules returns the fewest rules that allow the verbs and resources of the requests,
// and no others. They name no objects.
func LeastRules(requests []inspect.AccessRequest) []rbacv1.PolicyRule {
	verbs := map[inspect.AccessRequest]map[string]bool{} // by what the verbs are for
	for _, a := range requests {
		of := inspect.AccessRequest{Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Path: a.Path}
		if verbs[of] == nil {
			verbs[of] = map[string]bool{}
		}
		verbs[of][a.Verb] = true
	}
	type key struct{ group, verbs string }
	rules := map[key]*rbacv1.PolicyRule{}
	for of, set := range verbs {
		sorted := slices.Sorted(maps.Keys(set))
		k := key{of.Group, strings.Join(sorted, " ")}
		if of.Path != "" {
			k.group = "/"
		}
		if rules[k] == nil {
			rules[k] = &rbacv1.PolicyRule{Verbs: sorted}
		}
		if r := rules[k]; of.Path != "" {
			r.NonResourceURLs = append(r.NonResourceURLs, of.Path)
		} else {
			r.APIGroups, r.Resources = []string{of.Group}, append(r.Resources, resourceOf(of))
		}
	}
	return sortedRules(slices.Collect(maps.Values(rules)))
}

// resourceOf returns the resource with its subresource, as rules name it.
func resourceOf(a inspect.AccessRequest) string {
	if a.Subresource == "" {
		return a.Resource
	}
	return a.Resource + "/" + a.Subresource
}

// sortedRules returns the rules in the order of their groups, resources and verbs.
func sortedRules(rules []*rbacv1.PolicyRule) []rbacv1.PolicyRule {
	out := make([]rbacv1.PolicyRule, 0, len(rules))
	for _, r := range rules {
		slices.Sort(r.Resources)
		slices.Sort(r.NonResourceURLs)
		out = append(out, *r)
	}
	order := func(r rbacv1.PolicyRule) string {
		return strings.Join(slices.Concat(r.NonResourceURLs, r.APIGroups, []string{" "}, r.Resources, r.Verbs), ",")
	}
	slices.SortFunc(out, func(a, b rbacv1.PolicyRule) int { return strings.Compare(order(a), order(b)) })
	return out
}

// RoleRule is a rule of a Role, or of a ClusterRole.
type RoleRule struct {
	rbacv1.PolicyRule
	// Namespaced says that the rule is one of a Role: it allows nothing outside of namespaces.
	Namespaced bool
}

// allows reports whether the rule allows a request, in a namespace of any name.
func (r RoleRule) allows(a inspect.AccessRequest) bool {
	if r.Namespaced && (a.Namespace == "" || a.Path != "") {
		return false
	}
	return rbac.RuleAllows(attributesOf(a), &r.PolicyRule)
}

// Missing returns the requests that none of the rules allows.
func Missing(requests []inspect.AccessRequest, rules []RoleRule) []inspect.AccessRequest {
	return slices.DeleteFunc(slices.Clone(requests), func(a inspect.AccessRequest) bool {
		return slices.ContainsFunc(rules, func(r RoleRule) bool { return r.allows(a) })
	})
}

// Unused returns the parts of the rules that none of the requests needs. A part is a pair of a
// resource and a verb; it is needed if a request matches it. A wildcard is needed if any
// request matches it. A user who watches needs the verb list as well: client-go fills its
// caches by a watch if the server can stream the present objects, and otherwise lists them
// first.
func Unused(requests []inspect.AccessRequest, rules []RoleRule) []rbacv1.PolicyRule {
	var unused []inspect.AccessRequest
	requests = slices.Clone(requests)
	for _, a := range requests {
		if a.Verb == "watch" {
			a.Verb = "list"
			requests = append(requests, a)
		}
	}
	for _, r := range rules {
		for _, verb := range r.Verbs {
			for _, one := range single(r, verb) {
				if !slices.ContainsFunc(requests, one.rule.allows) {
					unused = append(unused, one.request)
				}
			}
		}
	}
	return LeastRules(unused)
}

// part is a rule for one verb of one resource, with the request that it allows.
type part struct {
	rule    RoleRule
	request inspect.AccessRequest
}

// single returns the parts of a rule for one of its verbs.
func single(r RoleRule, verb string) (parts []part) {
	only := func(rule rbacv1.PolicyRule, request inspect.AccessRequest) {
		rule.Verbs, request.Verb = []string{verb}, verb
		parts = append(parts, part{RoleRule{rule, r.Namespaced}, request})
	}
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			only(rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: r.ResourceNames},
				inspect.AccessRequest{Group: group, Resource: resource})
		}
	}
	for _, path := range r.NonResourceURLs {
		only(rbacv1.PolicyRule{NonResourceURLs: []string{path}}, inspect.AccessRequest{Path: path})
	}
	return parts
}

// Compact formats a rule in one line, as upstream does in errors.
func Compact(r rbacv1.PolicyRule) string { return rbacv1helpers.CompactString(r) }
