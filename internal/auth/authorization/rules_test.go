package authorization_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	rbacvalidation "k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/internal/testing/storetest"
	"github.com/fakecluster/fakecluster/store"
)

// world has the same roles and bindings twice: in a store, and in lists of upstream's.
type world struct {
	t     testing.TB
	store *store.Store
	rules *authorization.Rules

	roles               map[string]*rbacv1.Role
	clusterRoles        map[string]*rbacv1.ClusterRole
	roleBindings        map[string]*rbacv1.RoleBinding
	clusterRoleBindings map[string]*rbacv1.ClusterRoleBinding
}

func newWorld(t testing.TB) *world {
	s := storetest.Open(t, store.Options{HistoryRevisions: 50})
	return &world{
		t: t, store: s, rules: authorization.NewRules(s, storetest.Prefix, nil), roles: map[string]*rbacv1.Role{}, clusterRoles: map[string]*rbacv1.ClusterRole{},
		roleBindings: map[string]*rbacv1.RoleBinding{}, clusterRoleBindings: map[string]*rbacv1.ClusterRoleBinding{},
	}
}

// put writes an object to a key, or deletes what is there: obj is nil then.
func (w *world) put(key string, obj any) {
	w.t.Helper()
	storetest.Put(w.t, w.store, key, obj)
}

// upstream is upstream's authorizer, which looks at every binding.
func (w *world) upstream() *rbac.RBACAuthorizer {
	var roles []*rbacv1.Role
	for _, r := range w.roles {
		roles = append(roles, r)
	}
	var clusterRoles []*rbacv1.ClusterRole
	for _, r := range w.clusterRoles {
		clusterRoles = append(clusterRoles, r)
	}
	var roleBindings []*rbacv1.RoleBinding
	for _, b := range w.roleBindings {
		roleBindings = append(roleBindings, b)
	}
	var clusterRoleBindings []*rbacv1.ClusterRoleBinding
	for _, b := range w.clusterRoleBindings {
		clusterRoleBindings = append(clusterRoleBindings, b)
	}
	_, static := rbacvalidation.NewTestRuleResolver(roles, roleBindings, clusterRoles, clusterRoleBindings)
	return rbac.New(static, static, static, static)
}

var (
	namespaces = []string{"a", "b"}
	users      = []string{"jane", "joe", "system:serviceaccount:a:robot", "system:serviceaccount:b:robot"}
	groups     = []string{"dev", "ops", "system:serviceaccounts"}
	verbs      = []string{"get", "list", "delete", "*"}
	kinds      = []string{"pods", "pods/log", "secrets", "*", "*/status"}
	apiGroups  = []string{"", "apps", "*"}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func randomRules(r *rand.Rand) (rules []rbacv1.PolicyRule) {
	for range r.IntN(3) {
		rule := rbacv1.PolicyRule{Verbs: []string{pick(r, verbs)}}
		if r.IntN(5) == 0 {
			rule.NonResourceURLs = []string{pick(r, []string{"/metrics", "/api/*", "*"})}
		} else {
			rule.APIGroups, rule.Resources = []string{pick(r, apiGroups)}, []string{pick(r, kinds)}
			if r.IntN(3) == 0 {
				rule.ResourceNames = []string{pick(r, []string{"x", "y"})}
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

func randomSubjects(r *rand.Rand) (subjects []rbacv1.Subject) {
	for range r.IntN(4) {
		switch r.IntN(4) {
		case 0:
			subjects = append(subjects, rbacv1.Subject{Kind: "User", Name: pick(r, users)})
		case 1:
			subjects = append(subjects, rbacv1.Subject{Kind: "Group", Name: pick(r, groups)})
		case 2:
			subjects = append(subjects, rbacv1.Subject{Kind: "ServiceAccount", Name: "robot", Namespace: pick(r, append(namespaces, ""))})
		default:
			subjects = append(subjects, rbacv1.Subject{Kind: "Robot", Name: pick(r, users)})
		}
	}
	return subjects
}

// change writes or deletes a role or a binding.
func (w *world) change(r *rand.Rand) {
	name, namespace, gone := pick(r, []string{"x", "y", "z"}), pick(r, namespaces), r.IntN(4) == 0
	meta := metav1.ObjectMeta{Name: name}
	ref := rbacv1.RoleRef{Kind: pick(r, []string{"Role", "ClusterRole"}), Name: pick(r, []string{"x", "y", "z", "none"})}
	switch r.IntN(5) {
	case 0:
		w.put("/registry/pods/"+namespace+"/"+name, map[string]any{"n": r.Int()})
	case 1:
		obj := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: randomRules(r)}
		set(w, w.clusterRoles, "/registry/clusterroles/"+name, obj, gone)
	case 2:
		meta.Namespace = namespace
		set(w, w.roles, "/registry/roles/"+namespace+"/"+name, &rbacv1.Role{ObjectMeta: meta, Rules: randomRules(r)}, gone)
	case 3:
		ref.Kind = "ClusterRole"
		set(w, w.clusterRoleBindings, "/registry/clusterrolebindings/"+name, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: randomSubjects(r)}, gone)
	case 4:
		meta.Namespace = namespace
		set(w, w.roleBindings, "/registry/rolebindings/"+namespace+"/"+name, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: randomSubjects(r)}, gone)
	}
}

// set puts an object into the store and a list, or removes it from both.
func set[T any](w *world, list map[string]*T, key string, obj *T, gone bool) {
	if gone {
		delete(list, key)
		w.put(key, nil)
		return
	}
	list[key] = obj
	w.put(key, obj)
}

func randomAttributes(r *rand.Rand) authorizer.AttributesRecord {
	a := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: pick(r, users), Groups: groups[:r.IntN(len(groups)+1)]}, Verb: pick(r, verbs[:3])}
	if r.IntN(5) == 0 {
		a.Path = pick(r, []string{"/metrics", "/api/v1", "/version"})
		return a
	}
	a.ResourceRequest, a.APIGroup, a.Resource = true, pick(r, apiGroups[:2]), pick(r, []string{"pods", "secrets"})
	a.Subresource, a.Name, a.Namespace = pick(r, []string{"", "", "log", "status"}), pick(r, []string{"", "x", "y"}), pick(r, append(namespaces, ""))
	return a
}

// The index finds what upstream finds by looking at every binding, at every revision.
func TestDecisionsAreUpstreams(t *testing.T) {
	r := seedtest.Rand(t)
	w := newWorld(t)
	allowed := 0
	for range 5000 {
		w.change(r)
		a := randomAttributes(r)
		want, _, _ := w.upstream().Authorize(context.Background(), a)
		got, reason, err := authorization.ByRules(w.rules).Authorize(context.Background(), a)
		if err != nil || got != want {
			t.Fatalf("%+v: %v %q %v, want %v", a, got, reason, err, want)
		}
		if got == authorizer.DecisionAllow {
			allowed++
		}
		if r.IntN(1000) == 0 { // rules of a fork begin with what those of the origin have read
			forked, err := w.store.Fork()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { forked.Close() })
			w.change(r)
			w.store, w.rules = forked, authorization.NewRules(forked, storetest.Prefix, w.rules)
			w = w.reread()
		}
	}
	if allowed < 100 {
		t.Errorf("%d of the requests were allowed", allowed)
	}
}

// reread has the lists hold what is in the store.
func (w *world) reread() *world {
	clear(w.roles)
	clear(w.clusterRoles)
	clear(w.roleBindings)
	clear(w.clusterRoleBindings)
	fill(w, "/registry/roles/", w.roles)
	fill(w, "/registry/clusterroles/", w.clusterRoles)
	fill(w, "/registry/rolebindings/", w.roleBindings)
	fill(w, "/registry/clusterrolebindings/", w.clusterRoleBindings)
	return w
}

func fill[T any](w *world, prefix string, list map[string]*T) {
	found, err := w.store.List(prefix, store.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, record := range found.Records {
		obj := new(T)
		if err := json.Unmarshal([]byte(record.Value), obj); err != nil {
			w.t.Fatal(err)
		}
		list[record.Key] = obj
	}
}

func TestErrorsNameTheMissingRole(t *testing.T) {
	w := newWorld(t)
	w.put("/registry/clusterrolebindings/x", &rbacv1.ClusterRoleBinding{
		RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "none"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "jane"}},
	})
	decision, reason, err := authorization.ByRules(w.rules).Authorize(context.Background(), authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "jane"}, Verb: "get", Path: "/"})
	got := fmt.Sprintln(decision, reason, err)
	if want := "NoOpinion RBAC: clusterrole.rbac.authorization.k8s.io \"none\" not found <nil>\n"; got != want {
		t.Errorf("got %swant %s", got, want)
	}
}

// BenchmarkAuthorize is what a decision takes, with a write to something else before each.
func BenchmarkAuthorize(b *testing.B) {
	w := newWorld(b)
	for i := range 200 {
		name := fmt.Sprint("role", i)
		w.put("/registry/clusterroles/"+name, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"example.com"}, Resources: []string{name, name + "/status"}, Verbs: []string{"get", "list", "watch", "update"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get"}},
		}})
		w.put("/registry/clusterrolebindings/"+name, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: fmt.Sprint("user", i/10)}},
		})
	}
	request := func(u user.Info, resource string) authorizer.Attributes {
		return authorizer.AttributesRecord{User: u, Verb: "update", APIGroup: "example.com", Resource: resource, Namespace: "default", Name: "a", ResourceRequest: true}
	}
	ten := &user.DefaultInfo{Name: "user3", Groups: []string{"dev", "system:authenticated"}}
	for _, c := range []struct {
		name string
		a    authorizer.Attributes
		want authorizer.Decision
	}{
		{"admin", request(authentication.Admin, "role1"), authorizer.DecisionAllow},
		{"ten roles, the last allows", request(ten, "role39"), authorizer.DecisionAllow},
		{"ten roles, none allows", request(ten, "role40"), authorizer.DecisionNoOpinion},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			authz := authorization.ByRules(w.rules)
			for b.Loop() {
				if got, _, err := authz.Authorize(b.Context(), c.a); got != c.want || err != nil {
					b.Fatal(got, err)
				}
			}
		})
	}
}
