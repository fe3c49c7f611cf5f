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
	return reportOf(t, func(t testing.TB) { c.CheckRole(t, "operator", paths...) })
}

// checkUnusedRules returns what CheckUnusedRules reports.
func checkUnusedRules(t *testing.T, c *fakecluster.Cluster, paths ...string) string {
	return reportOf(t, func(t testing.TB) { c.CheckUnusedRules(t, "operator", paths...) })
}

// reportOf returns why a check fails its test, or nothing.
func reportOf(t *testing.T, check func(testing.TB)) string {
	v := &verdict{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(v) {
				panic(p)
			}
		}()
		check(v)
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

func TestCheckRoleNamesMissingRules(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	client := clientOf(t, c.ConfigFor("operator", "system:masters"))
	operate(t, client)
	equal(t, "the right role", checkRole(t, c, "testdata/rbac"), "")
	equal(t, "a role with an unused rule", checkRole(t, c, "testdata/rbac/role.yaml"), "")

	w, err := client.AppsV1().Deployments("default").Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	w.Stop()
	_ = client.Discovery().RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Error()
	text, err := os.ReadFile("testdata/rbac/role.yaml")
	must(t, err)
	edited := filepath.Join(t.TempDir(), "role.yaml")
	must(t, os.WriteFile(edited, []byte(strings.Replace(string(text), "verbs: [create, get]", "verbs: [get, delete]", 1)), 0o600))
	equal(t, "to paste, and list with watch", checkRole(t, c, edited, "testdata/rbac/binding.yaml"), "fakecluster: the roles in "+edited+`, testdata/rbac/binding.yaml do not allow everything that operator has requested
missing, as markers for controller-gen:
	// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create
	// +kubebuilder:rbac:urls=/metrics,verbs=get
	// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch
missing, as rules of a role:
	- {apiGroups: [""], resources: ["configmaps"], verbs: ["create"]}
	- {nonResourceURLs: ["/metrics"], verbs: ["get"]}
	- {apiGroups: ["apps"], resources: ["deployments"], verbs: ["list", "watch"]}
`)
	equal(t, "no role", checkRole(t, c, "testdata/rbac/binding.yaml"), "fakecluster: no Role or ClusterRole in testdata/rbac/binding.yaml")
	equal(t, "no path", checkRole(t, c), "fakecluster: no manifests to compare the requests with: give the files or folders with the operator's roles, such as config/rbac")
	equal(t, "no file", checkRole(t, c, "testdata/none.yaml"), "fakecluster: role path: stat testdata/none.yaml: no such file or directory")
}

func TestCheckUnusedRulesToleratesKubebuildersMarkers(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	operate(t, clientOf(t, c.ConfigFor("operator", "system:masters")))
	equal(t, "the right role", checkUnusedRules(t, c, "testdata/rbac"), "")
	role := filepath.Join(t.TempDir(), "role.yaml")
	must(t, os.WriteFile(role, []byte(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager-role}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update, patch, delete, deletecollection]}
- {apiGroups: [""], resources: [configmaps/status], verbs: [get, update, patch]}
- {apiGroups: [""], resources: [configmaps/finalizers], verbs: [update, patch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: ["*"]}
- {apiGroups: [apps], resources: [deployments], verbs: [get, list, watch]}
- {nonResourceURLs: [/metrics], verbs: [get]}
`), 0o600))
	equal(t, "other verbs and resources", checkUnusedRules(t, c, role), "fakecluster: the roles in "+role+` have rules that operator has never needed
never used:
	- {apiGroups: [""], resources: ["configmaps"], verbs: ["deletecollection"]}
	- {apiGroups: [""], resources: ["configmaps/finalizers"], verbs: ["patch"]}
	- {nonResourceURLs: ["/metrics"], verbs: ["get"]}
	- {apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list", "watch"]}
`)
	election := filepath.Join(t.TempDir(), "leader_election_role.yaml")
	const generated = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: NAME}\nrules:\n" +
		"- {apiGroups: [\"\"], resources: [events], verbs: [create, patch]}\n"
	must(t, os.WriteFile(election, []byte(strings.Replace(generated, "NAME", "website-leader-election-role", 1)), 0o600))
	equal(t, "the role for leader election", checkUnusedRules(t, c, election), "")
	must(t, os.WriteFile(election, []byte(strings.Replace(generated, "NAME", "another-role", 1)), 0o600))
	equal(t, "another role", checkUnusedRules(t, c, election), "fakecluster: the roles in "+election+` have rules that operator has never needed
never used:
	- {apiGroups: [""], resources: ["events"], verbs: ["create", "patch"]}
`)
	equal(t, "no role", checkUnusedRules(t, c, "testdata/rbac/binding.yaml"), "fakecluster: no Role or ClusterRole in testdata/rbac/binding.yaml")
}

func TestARoleAllowsNothingOutsideOfNamespaces(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	client := clientOf(t, c.ConfigFor("operator"))
	_, err := client.CoordinationV1().Leases("").List(t.Context(), metav1.ListOptions{})
	fails(t, "refused", err, `leases.coordination.k8s.io is forbidden: User "operator" cannot list resource "leases" in API group "coordination.k8s.io" at the cluster scope`)
	got := checkRole(t, c, "testdata/rbac")
	if want := `missing, as rules of a role:
	- {apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["list"]}
`; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A cache of client-go begins with a watch here. On a server that cannot stream the present
// objects it lists them first, so a role of an operator needs both verbs.
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
	equal(t, "the rules", access.Rules(), []rbacv1.PolicyRule{rule("list", "watch")})
	equal(t, "both verbs", access.Compare(rule("list", "watch")).String(), "")
	equal(t, "watch alone", access.Compare(rule("watch")).Missing, []rbacv1.PolicyRule{rule("list")})
	equal(t, "get is not needed", access.Compare(rule("get", "list", "watch")).Unused, []rbacv1.PolicyRule{rule("get")})
	equal(t, "list alone", access.Compare(rule("list")).Missing, []rbacv1.PolicyRule{rule("watch")})
}

// A mistake in the user or in a roleRef is not a role that is complete, or one that allows nothing.
func TestCheckRoleFindsMistakesInItsArguments(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	check := func(paths ...string) string {
		return reportOf(t, func(t testing.TB) { c.CheckRole(t, "oprator", paths...) })
	}
	equal(t, "the user of RESTConfig", reportOf(t, func(t testing.TB) { c.CheckRole(t, "kubernetes-admin", "testdata/rbac") }),
		"fakecluster: kubernetes-admin is the user of RESTConfig, who may do everything and whose requests are not recorded: "+
			"run the operator with c.ConfigFor(\"operator\", \"system:masters\") and check the user operator")
	equal(t, "a user without requests", check("testdata/rbac"), "fakecluster: the user oprator has not sent a request, so there is nothing to compare the roles with: "+
		"run the operator with c.ConfigFor(\"oprator\"), and call this when it has done everything")
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "rbac.yaml"), []byte("{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: manager}}\n"+
		"---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: manager}, roleRef: {kind: Role, name: manger}}\n"), 0o600))
	equal(t, "a binding of another role", check(folder), "fakecluster: the bindings in "+folder+" refer to none of the roles there: add the file with the role, or correct the roleRef")
}
