package fakecluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/internal/printable"
)

// Access has the requests of a user. They show which Role the user needs.
type Access struct {
	// User is the name of the user.
	User string
	// Requests are the requests of the user, allowed or not, each once and in the order in
	// which they first came. When all users together have made 10,000 different requests, the
	// names of objects are left out of further ones.
	Requests []inspect.AccessRequest
}

// Access returns the requests of a user until now: a user of ConfigFor, of
// ServiceAccountConfig (system:serviceaccount:NAMESPACE:NAME), of a token, or one that was
// impersonated. An update or an apply that creates an object counts as a create, too. The
// user of RESTConfig may do everything, and is not recorded. To find out what an operator needs
// without rejecting anything, run it with ConfigFor("operator", "system:masters").
//
// The access of a fork begins empty.
func (c *Cluster) Access(user string) Access {
	return Access{User: user, Requests: c.server.Access.Requested.ByUser(user)}
}

// needs returns the requests for which the user needs a Role.
func (a Access) needs() []inspect.AccessRequest {
	return authorization.OwnRights(authorization.WithLists(a.Requests))
}

// Rules returns the fewest rules that allow the verbs and resources of all requests and no
// others. They are rules for a ClusterRole: they name neither namespaces nor objects. They
// leave out what every user may do in a new cluster, such as to discover what is served. A
// request to watch also needs the verb list, which clients send in its place to servers older
// than 1.32.
func (a Access) Rules() []rbacv1.PolicyRule { return authorization.LeastRules(a.needs()) }

// RoleDiff is the difference between the requests of a user and what rules allow.
type RoleDiff struct {
	// Missing are the fewest rules that allow the requests that the compared rules do not allow.
	Missing []rbacv1.PolicyRule
	// Unused are the parts of the compared rules that the user has never needed. A wildcard is
	// needed if it has allowed anything.
	Unused []rbacv1.PolicyRule
}

// Compare compares the requests of the user with the rules of a ClusterRole.
func (a Access) Compare(rules ...rbacv1.PolicyRule) RoleDiff {
	converted := make([]authorization.RoleRule, len(rules))
	for i, r := range rules {
		converted[i] = authorization.RoleRule{PolicyRule: r}
	}
	return a.compare(converted, false)
}

func (a Access) compare(rules []authorization.RoleRule, tolerateMarkers bool) RoleDiff {
	needs := a.needs()
	return RoleDiff{Missing: authorization.LeastRules(authorization.Missing(needs, rules)), Unused: authorization.Unused(needs, rules, tolerateMarkers)}
}

// CompareRoles compares the requests of the user with the Roles and ClusterRoles in manifest files and
// folders, which are read as by CheckRole. It is an error if a path cannot be read, or if the paths together
// do not contain a Role or ClusterRole.
func (a Access) CompareRoles(paths ...string) (RoleDiff, error) {
	rules, err := readRoles(paths)
	if err != nil {
		return RoleDiff{}, err
	}
	return a.compare(rules, false), nil
}

// String returns the missing and the unused rules, as markers for controller-gen and as rules of
// a Role in YAML. It is empty if there are neither.
func (d RoleDiff) String() string { return d.missing() + d.unused() }

func (d RoleDiff) missing() string {
	return listed("missing, as markers for controller-gen:", d.Missing, authorization.Marker) + listed("missing, as rules of a role:", d.Missing, authorization.YAML)
}

func (d RoleDiff) unused() string { return listed("never used:", d.Unused, authorization.YAML) }

// listed returns a title with the rules below it, or nothing without rules.
func listed(title string, rules []rbacv1.PolicyRule, format func(rbacv1.PolicyRule) string) string {
	if len(rules) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(title + "\n")
	for _, r := range rules {
		b.WriteString("\t" + format(r) + "\n")
	}
	return printable.Text(b.String())
}

// CheckRole fails the test, with t.Errorf, if the Roles and ClusterRoles in manifest files and
// folders, such as config/rbac, do not allow all requests of the user. The message
// contains the missing rules as markers for controller-gen and as YAML, to paste. Call it when the
// operator has done everything that it does. [Cluster.CheckUnusedRules] checks the opposite.
//
// If the manifests have RoleBindings or ClusterRoleBindings, the roles that these refer to are compared, and
// otherwise all. The rules of a Role allow requests in every namespace, because installing often changes the
// namespace that the manifest names. They do not allow requests outside of namespaces. The test fails with
// t.Fatalf if a path cannot be read, if the paths together do not contain a role, or if the user has not sent
// a request.
func (c *Cluster) CheckRole(t testing.TB, user string, paths ...string) {
	t.Helper()
	diff := c.compareRoles(t, user, paths)
	if len(diff.Missing) > 0 {
		c.TB(t).Errorf("fakecluster: the roles in %s do not allow everything that %s has requested\n%s", strings.Join(paths, ", "), user, diff.missing())
	}
}

// CheckUnusedRules fails the test, with t.Errorf, if the Roles and ClusterRoles in manifest files and
// folders have rules that the user has never needed. They are read as by CheckRole.
//
// It tolerates the verbs that the markers of kubebuilder always include, if the user has needed the
// resource with another verb: get, list, watch, create, update, patch and delete, of the subresource
// status get, update and patch, of finalizers update. It also tolerates a Role whose name ends with
// leader-election-role, as kubebuilder generates it: tests often run without leader election. A
// wildcard is needed if it has allowed anything. [Access.CompareRoles] tolerates nothing.
func (c *Cluster) CheckUnusedRules(t testing.TB, user string, paths ...string) {
	t.Helper()
	diff := c.compareRoles(t, user, paths)
	if len(diff.Unused) > 0 {
		c.TB(t).Errorf("fakecluster: the roles in %s have rules that %s has never needed\n%s", strings.Join(paths, ", "), user, diff.unused())
	}
}

// compareRoles compares the roles in manifests with the requests of the user, and tolerates the verbs
// of kubebuilder's markers.
func (c *Cluster) compareRoles(t testing.TB, user string, paths []string) RoleDiff {
	t.Helper()
	rules, err := readRoles(paths)
	if err != nil {
		c.TB(t).Fatalf("fakecluster: %v", err)
	}
	if user == authentication.Admin.GetName() {
		c.TB(t).Fatalf("fakecluster: %s is the user of RESTConfig, who may do everything and whose requests are not recorded: run the operator with c.ConfigFor(\"operator\", \"system:masters\") and check the user operator", user)
	}
	access := c.Access(user)
	if len(access.Requests) == 0 {
		c.TB(t).Fatalf("fakecluster: the user %s has not sent a request, so there is nothing to compare the roles with: run the operator with c.ConfigFor(%q), and call this when it has done everything", user, user)
	}
	return access.compare(rules, true)
}

// readRoles reads the rules of the roles in manifests.
func readRoles(paths []string) ([]authorization.RoleRule, error) {
	type id struct{ kind, name string }
	rules, bound := map[id][]authorization.RoleRule{}, map[id]bool{}
	var order []id
	read := func(m manifests.Manifest) error {
		kind := m.GroupVersionKind()
		if kind.Group != rbacv1.GroupName {
			return nil
		}
		switch kind.Kind {
		case "Role", "ClusterRole":
			var role rbacv1.ClusterRole // a Role has the same rules
			if err := json.Unmarshal(m.Text, &role); err != nil {
				return err
			}
			found := id{kind.Kind, m.GetName()}
			order = append(order, found)
			for _, r := range role.Rules {
				rules[found] = append(rules[found], authorization.RoleRule{
					PolicyRule: r, Namespaced: kind.Kind == "Role",
					LeaderElection: kind.Kind == "Role" && strings.HasSuffix(m.GetName(), "leader-election-role"),
				})
			}
		case "RoleBinding", "ClusterRoleBinding":
			var binding rbacv1.RoleBinding // a ClusterRoleBinding refers to its role alike
			if err := json.Unmarshal(m.Text, &binding); err != nil {
				return err
			}
			bound[id{binding.RoleRef.Kind, binding.RoleRef.Name}] = true
		}
		return nil
	}
	for _, path := range paths {
		if err := eachManifest("role path", path, read); err != nil {
			return nil, err
		}
	}
	if len(order) == 0 {
		if len(paths) == 0 {
			return nil, errors.New("no manifests to compare the requests with: give the files or folders with the operator's roles, such as config/rbac")
		}
		return nil, fmt.Errorf("no Role or ClusterRole in %s", strings.Join(paths, ", "))
	}
	var granted []authorization.RoleRule
	found := false
	for _, name := range order {
		if len(bound) == 0 || bound[name] {
			granted = append(granted, rules[name]...)
			found = true
		}
	}
	if !found {
		return nil, fmt.Errorf("the bindings in %s refer to none of the roles there: add the file with the role, or correct the roleRef", strings.Join(paths, ", "))
	}
	return granted, nil
}
