package authorization

import (
	"maps"
	"slices"
	"strconv"
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

// everybodys has the rules of every user in a new cluster.
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

// OwnRights returns the requests that need more than the rights of every user.
func OwnRights(requests []inspect.AccessRequest) []inspect.AccessRequest {
	return slices.DeleteFunc(slices.Clone(requests), func(a inspect.AccessRequest) bool { return rbac.RulesAllow(attributesOf(a), everybodys()...) })
}

// LeastRules returns the fewest rules that allow the verbs and resources of the requests, and no others. They have no
// resource names.
func LeastRules(requests []inspect.AccessRequest) []rbacv1.PolicyRule {
	verbs := map[inspect.AccessRequest]map[string]bool{} // by the request without its verb
	for _, a := range requests {
		request := inspect.AccessRequest{Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Path: a.Path}
		if verbs[request] == nil {
			verbs[request] = map[string]bool{}
		}
		verbs[request][a.Verb] = true
	}
	type key struct{ group, verbs string }
	rules := map[key]*rbacv1.PolicyRule{}
	for request, set := range verbs {
		sorted := slices.Sorted(maps.Keys(set))
		k := key{request.Group, strings.Join(sorted, " ")}
		if request.Path != "" {
			k.group = "/"
		}
		if rules[k] == nil {
			rules[k] = &rbacv1.PolicyRule{Verbs: sorted}
		}
		if r := rules[k]; request.Path != "" {
			r.NonResourceURLs = append(r.NonResourceURLs, request.Path)
		} else {
			r.APIGroups, r.Resources = []string{request.Group}, append(r.Resources, resourceOf(request))
		}
	}
	return sortedRules(slices.Collect(maps.Values(rules)))
}

// resourceOf returns the resource with its subresource, as in rules: pods/status.
func resourceOf(a inspect.AccessRequest) string {
	if a.Subresource == "" {
		return a.Resource
	}
	return a.Resource + "/" + a.Subresource
}

// sortedRules returns the rules sorted by groups, resources and verbs.
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
	// Namespaced: the rule is from a Role, and allows nothing outside of namespaces.
	Namespaced bool
	// LeaderElection: the rule is one that kubebuilder generates for leader election, which tests often turn off.
	LeaderElection bool
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

// WithLists adds a list for each watch in the requests. client-go fills its caches with a watch if the server can stream
// the current objects, as this one and all since 1.32 can, and otherwise with a list first. So a role for older servers
// needs both verbs.
func WithLists(requests []inspect.AccessRequest) []inspect.AccessRequest {
	requests = slices.Clone(requests)
	for _, a := range requests {
		if a.Verb != "watch" {
			continue
		}
		a.Verb = "list"
		if !slices.ContainsFunc(requests, func(b inspect.AccessRequest) bool { b.Allowed = a.Allowed; return a == b }) {
			requests = append(requests, a)
		}
	}
	return requests
}

// customary are the verbs in kubebuilder's markers of every operator, for a resource and for its subresources.
var customary = map[string][]string{
	"":           {"get", "list", "watch", "create", "update", "patch", "delete"},
	"status":     {"get", "update", "patch"},
	"finalizers": {"update"},
}

// isCustomary reports whether a rule has an unused verb because of kubebuilder's markers: the markers always include the
// verb, and the requests use the resource with another verb.
func isCustomary(unused inspect.AccessRequest, requests []inspect.AccessRequest) bool {
	resource, subresource, _ := strings.Cut(unused.Resource, "/")
	return slices.Contains(customary[subresource], unused.Verb) && slices.ContainsFunc(requests, func(a inspect.AccessRequest) bool {
		return a.Path == "" && a.Group == unused.Group && a.Resource == resource
	})
}

// Unused returns the parts of the rules that none of the requests needs. A part is a pair of a resource and a verb; it
// is needed if a request matches it, also by a wildcard. With tolerateGenerated, a part is also needed if kubebuilder's
// markers always include its verb and the requests use the resource with another one, or if it is in a rule for leader
// election.
func Unused(requests []inspect.AccessRequest, rules []RoleRule, tolerateGenerated bool) []rbacv1.PolicyRule {
	var unused []inspect.AccessRequest
	for _, r := range rules {
		if tolerateGenerated && r.LeaderElection {
			continue
		}
		for _, verb := range r.Verbs {
			for _, one := range single(r, verb) {
				if !slices.ContainsFunc(requests, one.rule.allows) && !(tolerateGenerated && isCustomary(one.request, requests)) {
					unused = append(unused, one.request)
				}
			}
		}
	}
	return LeastRules(unused)
}

// part is a rule for one verb of one resource, with a request that it allows.
type part struct {
	rule    RoleRule
	request inspect.AccessRequest
}

// single returns the parts of a rule for one of its verbs.
func single(r RoleRule, verb string) (parts []part) {
	only := func(rule rbacv1.PolicyRule, request inspect.AccessRequest) {
		rule.Verbs, request.Verb = []string{verb}, verb
		parts = append(parts, part{RoleRule{PolicyRule: rule, Namespaced: r.Namespaced}, request})
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

// YAML formats a rule as an item of the rules of a Role, in one line.
func YAML(r rbacv1.PolicyRule) string {
	var fields []string
	for _, field := range []struct {
		name   string
		values []string
	}{{"apiGroups", r.APIGroups}, {"resources", r.Resources}, {"nonResourceURLs", r.NonResourceURLs}, {"verbs", r.Verbs}} {
		if len(field.values) == 0 {
			continue
		}
		quoted := make([]string, len(field.values))
		for i, value := range field.values {
			quoted[i] = strconv.Quote(value)
		}
		fields = append(fields, field.name+": ["+strings.Join(quoted, ", ")+"]")
	}
	return "- {" + strings.Join(fields, ", ") + "}"
}

// Marker formats a rule as a marker for controller-gen.
func Marker(r rbacv1.PolicyRule) string {
	var fields []string
	for _, field := range []struct {
		name   string
		values []string
	}{{"groups", r.APIGroups}, {"resources", r.Resources}, {"urls", r.NonResourceURLs}, {"verbs", r.Verbs}} {
		if len(field.values) == 0 {
			continue
		}
		text := strings.Join(field.values, ";")
		if strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789;-./") != "" || text == "" {
			text = strconv.Quote(text)
		}
		fields = append(fields, field.name+"="+text)
	}
	return "// +kubebuilder:rbac:" + strings.Join(fields, ",")
}
