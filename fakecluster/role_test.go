package fakecluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/inspect"
)

// operate does what the operator of the tests does. The Role in testdata/rbac is the one that it needs.
func operate(t testing.TB, client kubernetes.Interface) {
	t.Helper()
	if _, err := client.Discovery().ServerVersion(); err != nil {
		t.Fatal(err)
	}
	whoami(t, client)
	_, err := client.CoreV1().Secrets("default").Get(t.Context(), "password", metav1.GetOptions{})
	if err == nil || !strings.Contains(err.Error(), "not found") {
		t.Fatal(err)
	}
	for range 2 {
		_, err = client.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil {
			_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		}
		must(t, err)
	}
	_, err = client.CoordinationV1().Leases("default").Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "leader"}}, metav1.CreateOptions{})
	must(t, err)
}

// verdict is a test that notes what is wrong with a role, in place of failing.
type verdict struct {
	testing.TB
	text string
}

func (v *verdict) Helper()                           {}
func (v *verdict) Errorf(format string, args ...any) { v.text += fmt.Sprintf(format, args...) }
func (v *verdict) Fatalf(format string, args ...any) {
	v.Errorf(format, args...)
	panic(v)
}

// checkRole returns what CheckRole reports.
func checkRole(t *testing.T, c *fakecluster.Cluster, paths ...string) string {
	v := &verdict{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(v) {
				panic(p)
			}
		}()
		c.CheckRole(v, "operator", paths...)
	}()
	return v.text
}

func TestTheRoleThatAnOperatorNeeds(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	operate(t, clientOf(t, c.ConfigFor("operator", "system:masters")))
	access := c.Access("operator")
	equal(t, "the requests", access.Requests, []inspect.AccessRequest{
		{Verb: "get", Path: "/version", Allowed: true},
		{Verb: "create", Group: "authentication.k8s.io", Resource: "selfsubjectreviews", Allowed: true},
		{Verb: "get", Resource: "secrets", Namespace: "default", Name: "password", Allowed: true},
		{Verb: "get", Resource: "configmaps", Namespace: "default", Name: "a", Allowed: true},
		{Verb: "create", Resource: "configmaps", Namespace: "default", Allowed: true},
		{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: "default", Allowed: true},
	})
	needed := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "get"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
	}
	equal(t, "the rules", access.Rules(), needed)
	equal(t, "its own rules do", access.Compare(needed...), fakecluster.RoleDiff{Missing: []rbacv1.PolicyRule{}, Unused: []rbacv1.PolicyRule{}})
	equal(t, "the administrator is not recorded", len(c.Access("kubernetes-admin").Requests), 0)

	// Under exactly these rules everything goes well again.
	other := fakecluster.Start(t, fakecluster.InProcess())
	grant(t, clientOf(t, other.RESTConfig()), "operator", rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "operator"}, needed...)
	operate(t, clientOf(t, other.ConfigFor("operator")))
	equal(t, "nothing was refused", checkRole(t, other, "testdata/rbac"), "")
}

func TestCheckRoleNamesMissingAndUnusedRules(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	operate(t, clientOf(t, c.ConfigFor("operator", "system:masters")))
	equal(t, "the right role", checkRole(t, c, "testdata/rbac"), "")
	equal(t, "without bindings all roles count", checkRole(t, c, "testdata/rbac/role.yaml"), `fakecluster: the roles in testdata/rbac/role.yaml differ from what operator has asked for
never used:
	{APIGroups:["stable.example.com"], Resources:["crontabs"], Verbs:["get"]}
`)
	text, err := os.ReadFile("testdata/rbac/role.yaml")
	must(t, err)
	edited := filepath.Join(t.TempDir(), "role.yaml")
	must(t, os.WriteFile(edited, []byte(strings.Replace(string(text), "verbs: [create, get]", "verbs: [get, delete]", 1)), 0o600))
	equal(t, "one verb is exchanged for another", checkRole(t, c, edited, "testdata/rbac/binding.yaml"), "fakecluster: the roles in "+edited+`, testdata/rbac/binding.yaml differ from what operator has asked for
missing:
	{APIGroups:[""], Resources:["configmaps"], Verbs:["create"]}
never used:
	{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}
`)
	equal(t, "no role", checkRole(t, c, "testdata/rbac/binding.yaml"), "fakecluster: no role in testdata/rbac/binding.yaml")
	equal(t, "no file", checkRole(t, c, "testdata/none.yaml"), "fakecluster: role path: stat testdata/none.yaml: no such file or directory")
}

func TestARoleAllowsNothingOutsideOfNamespaces(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	client := clientOf(t, c.ConfigFor("operator"))
	_, err := client.CoordinationV1().Leases("").List(t.Context(), metav1.ListOptions{})
	fails(t, "refused", err, `leases.coordination.k8s.io is forbidden: User "operator" cannot list resource "leases" in API group "coordination.k8s.io" at the cluster scope`)
	got := checkRole(t, c, "testdata/rbac")
	if want := `missing:
	{APIGroups:["coordination.k8s.io"], Resources:["leases"], Verbs:["list"]}
`; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A cache of client-go begins with a watch here. On a server that cannot stream the present
// objects it lists them first, so a role of an operator has both verbs.
func TestAWatcherNeedsToList(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	client := clientOf(t, c.ConfigFor("operator", "system:masters"))
	w, err := client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	w.Stop()
	rule := func(verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}
	}
	access := c.Access("operator")
	equal(t, "both verbs", access.Compare(rule("list", "watch")).String(), "")
	equal(t, "watch alone", access.Compare(rule("watch")).String(), "")
	equal(t, "get is not needed", access.Compare(rule("get", "list", "watch")).Unused, []rbacv1.PolicyRule{rule("get")})
	equal(t, "list alone", access.Compare(rule("list")).Missing, []rbacv1.PolicyRule{rule("watch")})
}
