package fakecluster_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// clientOf is a client with a configuration.
func clientOf(t testing.TB, cfg *clientrest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	return client
}

// whoami returns the user of a client by the server. What differs from run to run has its name
// alone.
func whoami(t testing.TB, client kubernetes.Interface) authenticationv1.UserInfo {
	t.Helper()
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	must(t, err)
	u := review.Status.UserInfo
	for key := range u.Extra {
		u.Extra[key] = nil
	}
	return u
}

func account(t testing.TB, client kubernetes.Interface, name string) *corev1.ServiceAccount {
	t.Helper()
	made, err := client.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(t, err)
	return made
}

// grant has a ClusterRole with the rules, bound to a user.
func grant(t testing.TB, client kubernetes.Interface, name string, subject rbacv1.Subject, rules ...rbacv1.PolicyRule) {
	t.Helper()
	_, err := client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	}, metav1.CreateOptions{})
	must(t, err)
}

var jane = rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "jane"}

func readPods(verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: verbs}
}

func TestConfigurationsAuthenticateTheirUsers(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := fakecluster.Start(t, way...)
		admin := clientOf(t, c.RESTConfig())
		equal(t, "the administrator", whoami(t, admin), authenticationv1.UserInfo{
			Username: "kubernetes-admin", Groups: []string{"system:masters", "system:authenticated"},
		})
		jane := whoami(t, clientOf(t, c.ConfigFor("jane", "dev", "ops")))
		slices.Sort(jane.Groups)
		equal(t, "a user", []any{jane.Username, jane.Groups}, []any{"jane", []string{"dev", "ops", "system:authenticated"}})
		equal(t, "in a fork", whoami(t, clientOf(t, forked(c.Fork(t), c.ConfigFor("jane")))).Username, "jane")

		robot := c.ServiceAccountConfig("default", "robot")
		_, err := clientOf(t, robot).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		fails(t, "a service account that is not there", err, "Unauthorized")
		made := account(t, admin, "robot")
		equal(t, "a service account", whoami(t, clientOf(t, robot)), authenticationv1.UserInfo{
			Username: "system:serviceaccount:default:robot", UID: string(made.UID),
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"},
		})
		must(t, admin.CoreV1().ServiceAccounts("default").Delete(t.Context(), "robot", metav1.DeleteOptions{}))
		again := account(t, admin, "robot")
		equal(t, "the service account made anew", whoami(t, clientOf(t, robot)).UID, string(again.UID))
		must(t, admin.CoreV1().ServiceAccounts("default").Delete(t.Context(), "robot", metav1.DeleteOptions{}))
		_, err = clientOf(t, robot).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		fails(t, "a service account that was deleted", err, "Unauthorized")
	})
}

// forked is a configuration for one cluster with the credentials of another one.
func forked(c *fakecluster.Cluster, config *clientrest.Config) *clientrest.Config {
	cfg := c.RESTConfig()
	cfg.BearerToken, cfg.CertData, cfg.KeyData = config.BearerToken, config.CertData, config.KeyData
	return cfg
}

func TestCredentialsOfAnotherClusterAreRefused(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c, other := fakecluster.Start(t, way...), fakecluster.Start(t, way...)
		account(t, clientOf(t, c.RESTConfig()), "robot")
		account(t, clientOf(t, other.RESTConfig()), "robot")
		issued, err := clientOf(t, other.RESTConfig()).CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		must(t, err)
		for whose, cfg := range map[string]*clientrest.Config{
			"the administrator":   other.RESTConfig(),
			"a user":              other.ConfigFor("jane", "system:masters"),
			"a service account":   other.ServiceAccountConfig("default", "robot"),
			"a JSON Web Token":    {BearerToken: issued.Status.Token},
			"a token cut off":     {BearerToken: c.ServiceAccountConfig("default", "robot").BearerToken[1:]},
			"no token":            {},
			"nonsense":            {BearerToken: "a.b"},
			"nonsense like a JWT": {BearerToken: "a.b.c"},
		} {
			_, err := clientOf(t, forked(c, cfg)).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
			fails(t, whose, err, "Unauthorized")
		}
	})
}

func TestRolesAllowRequests(t *testing.T) {
	eachWay(t, func(t *testing.T, way ...fakecluster.Option) {
		c := fakecluster.Start(t, way...)
		admin, client := clientOf(t, c.RESTConfig()), clientOf(t, c.ConfigFor("jane"))
		_, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		fails(t, "without a role", err, `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"`)
		_, err = client.Discovery().ServerVersion()
		must(t, err)

		grant(t, admin, "reader", jane, readPods("list"))
		_, err = client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		must(t, err)
		_, err = client.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
		fails(t, "another verb", err, `pods "a" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "default"`)
		_, err = client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
		fails(t, "at the cluster scope", err, `clusterroles.rbac.authorization.k8s.io is forbidden: User "jane" cannot list resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope`)

		fork := c.Fork(t)
		must(t, admin.RbacV1().ClusterRoleBindings().Delete(t.Context(), "reader", metav1.DeleteOptions{}))
		_, err = client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		fails(t, "the binding has gone", err, `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"`)
		_, err = clientOf(t, fork.ConfigFor("jane")).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		must(t, err)
	})
}

func TestWithAuthorizationAlwaysAllow(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAuthorization(fakecluster.AlwaysAllow))
	_, err := clientOf(t, c.ConfigFor("jane")).RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	_, err = fakecluster.New(fakecluster.WithAuthorization("Node"))
	fails(t, "an unknown mode", err, `WithAuthorization: there is no mode "Node"; there are RBAC and AlwaysAllow`)
}

func TestImpersonation(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	admin := clientOf(t, c.RESTConfig())
	as := func(cfg *clientrest.Config, name string, groups ...string) kubernetes.Interface {
		cfg.Impersonate = clientrest.ImpersonationConfig{UserName: name, Groups: groups, UID: "7", Extra: map[string][]string{"reason": {"test"}}}
		return clientOf(t, cfg)
	}
	equal(t, "the administrator as jane", whoami(t, as(c.RESTConfig(), "jane", "dev")), authenticationv1.UserInfo{
		Username: "jane", UID: "7", Groups: []string{"dev", "system:authenticated"}, Extra: map[string]authenticationv1.ExtraValue{"reason": nil},
	})
	_, err := as(c.RESTConfig(), "jane").CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	fails(t, "the rights are jane's", err, `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"`)
	_, err = as(c.ConfigFor("joe"), "jane").CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	fails(t, "joe as jane", err, `pods is forbidden: User "joe" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "default"`)
	grant(t, admin, "impersonator", rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "joe"},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"jane"}, Verbs: []string{"impersonate"}})
	_, err = as(c.ConfigFor("joe"), "jane").CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	fails(t, "joe as jane with a uid", err, `pods is forbidden: User "joe" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "default"`)
	plain := c.ConfigFor("joe")
	plain.Impersonate.UserName = "jane"
	equal(t, "joe as jane", whoami(t, clientOf(t, plain)).Username, "jane")
}

func TestTokensOfServiceAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		admin := clientOf(t, c.RESTConfig())
		made := account(t, admin, "robot")
		issue := func(spec authenticationv1.TokenRequestSpec) kubernetes.Interface {
			request, err := admin.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{Spec: spec}, metav1.CreateOptions{})
			must(t, err)
			cfg := c.RESTConfig()
			cfg.BearerToken = request.Status.Token
			return clientOf(t, cfg)
		}
		refused := func(rule string, client kubernetes.Interface) {
			t.Helper()
			_, err := client.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
			fails(t, rule, err, "Unauthorized")
		}
		hour := issue(authenticationv1.TokenRequestSpec{})
		jane := whoami(t, hour)
		equal(t, "the user", []any{jane.Username, jane.UID, jane.Groups, slices.Sorted(maps.Keys(jane.Extra))}, []any{
			"system:serviceaccount:default:robot", string(made.UID),
			[]string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"},
			[]string{"authentication.kubernetes.io/credential-id"},
		})
		refused("for somebody else", issue(authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}}))

		secret, err := admin.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
		must(t, err)
		bound := issue(authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: "s", UID: secret.UID}})
		whoami(t, bound)
		must(t, admin.CoreV1().Secrets("default").Delete(t.Context(), "s", metav1.DeleteOptions{}))
		refused("the secret has gone", bound)

		time.Sleep(59 * time.Minute)
		whoami(t, hour)
		time.Sleep(3 * time.Minute) // a minute of leeway
		refused("expired", hour)

		fresh := issue(authenticationv1.TokenRequestSpec{})
		whoami(t, fresh)
		must(t, admin.CoreV1().ServiceAccounts("default").Delete(t.Context(), "robot", metav1.DeleteOptions{}))
		refused("the service account has gone", fresh)
		account(t, admin, "robot")
		refused("another service account of the name", fresh)
	})
}

// A program that verifies tokens reads the document of the issuer, and then the keys at its URL.
func TestTheIssuerServesItsKeysOverTLS(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.WithTLS())
	client, err := clientrest.HTTPClientFor(c.RESTConfig())
	must(t, err)
	read := func(url string, into any) {
		t.Helper()
		resp, err := client.Get(url)
		must(t, err)
		defer resp.Body.Close()
		equal(t, url, resp.StatusCode, http.StatusOK)
		must(t, json.NewDecoder(resp.Body).Decode(into))
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	read(c.URL()+"/.well-known/openid-configuration", &document)
	var keys struct{ Keys []struct{ Use string } }
	read(document.Keys, &keys)
	equal(t, "the keys", keys.Keys, []struct{ Use string }{{"sig"}})
}

func TestTokenReviews(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	admin := clientOf(t, c.RESTConfig())
	account(t, admin, "robot")
	request, err := admin.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "robot",
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}}}, metav1.CreateOptions{})
	must(t, err)
	review := func(token string, audiences ...string) authenticationv1.TokenReviewStatus {
		t.Helper()
		r, err := admin.AuthenticationV1().TokenReviews().Create(t.Context(),
			&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}, metav1.CreateOptions{})
		must(t, err)
		r.Status.User.UID, r.Status.User.Extra = "", nil
		return r.Status
	}
	const issuer = "https://kubernetes.default.svc.cluster.local"
	robot := authenticationv1.UserInfo{Username: "system:serviceaccount:default:robot", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"}}
	equal(t, "for its audience", review(request.Status.Token, "vault"), authenticationv1.TokenReviewStatus{Authenticated: true, User: robot, Audiences: []string{"vault"}})
	equal(t, "for the server", review(request.Status.Token), authenticationv1.TokenReviewStatus{
		Error: `[invalid bearer token, token audiences ["vault"] is invalid for the target audiences ["` + issuer + `"]]`,
	})
	equal(t, "a user", review(c.ConfigFor("jane", "dev").BearerToken), authenticationv1.TokenReviewStatus{
		Authenticated: true, User: authenticationv1.UserInfo{Username: "jane", Groups: []string{"dev", "system:authenticated"}}, Audiences: []string{issuer},
	})
	equal(t, "the service account of a configuration", review(c.ServiceAccountConfig("default", "robot").BearerToken), authenticationv1.TokenReviewStatus{
		Authenticated: true, User: robot, Audiences: []string{issuer},
	})
	equal(t, "nobody", review("nobody").Authenticated, false)
	equal(t, "a blank token", review(" "), authenticationv1.TokenReviewStatus{})

	admin = clientOf(t, fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--anonymous-auth=true")).RESTConfig())
	equal(t, "a blank token where anonymous requests are accepted", review(" "), authenticationv1.TokenReviewStatus{
		Authenticated: true, User: authenticationv1.UserInfo{Username: "system:anonymous", Groups: []string{"system:unauthenticated"}}, Audiences: []string{issuer},
	})
}

func TestAccessReviewsMatchAuthorization(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	admin, client := clientOf(t, c.RESTConfig()), clientOf(t, c.ConfigFor("jane"))
	grant(t, admin, "reader", jane, readPods("get", "list"))
	may := func(verb string) authorizationv1.SubjectAccessReviewStatus {
		r, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: verb, Resource: "pods"}},
		}, metav1.CreateOptions{})
		must(t, err)
		return r.Status
	}
	equal(t, "allowed", may("list"), authorizationv1.SubjectAccessReviewStatus{
		Allowed: true, Reason: `RBAC: allowed by ClusterRoleBinding "reader" of ClusterRole "reader" to User "jane"`,
	})
	equal(t, "not allowed", may("delete"), authorizationv1.SubjectAccessReviewStatus{})
	rules, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"},
	}, metav1.CreateOptions{})
	must(t, err)
	equal(t, "the rules", rules.Status.ResourceRules[0], authorizationv1.ResourceRule{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}})
	review, err := admin.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: "jane", ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: "get", Resource: "pods"}},
	}, metav1.CreateOptions{})
	must(t, err)
	equal(t, "a review by another", review.Status.Allowed, true)
}

func TestUsersCannotGrantMoreThanTheyHave(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	admin, client := clientOf(t, c.RESTConfig()), clientOf(t, c.ConfigFor("jane"))
	grant(t, admin, "writer", jane, readPods("get"),
		rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings"}, Verbs: []string{"create", "update", "patch", "get"}})
	role := func(name string, verbs ...string) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{readPods(verbs...)}}
	}
	roles := client.RbacV1().Roles("default")
	made, err := roles.Create(t.Context(), role("own", "get"), metav1.CreateOptions{})
	must(t, err)
	_, err = roles.Create(t.Context(), role("more", "get", "delete"), metav1.CreateOptions{})
	const escalation = `user "jane" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}`
	fails(t, "a role with more", err, `roles.rbac.authorization.k8s.io "more" is forbidden: `+escalation)
	made.Rules[0].Verbs = []string{"delete"}
	_, err = roles.Update(t.Context(), made, metav1.UpdateOptions{})
	fails(t, "a change to more", err, `roles.rbac.authorization.k8s.io "own" is forbidden: `+escalation)
	stored, err := roles.Get(t.Context(), "own", metav1.GetOptions{})
	must(t, err)
	equal(t, "nothing was stored", stored.Rules, []rbacv1.PolicyRule{readPods("get")})

	bind := func(name string) error {
		_, err := client.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		}, metav1.CreateOptions{})
		return err
	}
	must(t, bind("own"))
	_, err = admin.RbacV1().Roles("default").Create(t.Context(), role("more", "delete"), metav1.CreateOptions{})
	must(t, err)
	fails(t, "a binding to a role with more", bind("more"), `rolebindings.rbac.authorization.k8s.io "more" is forbidden: `+escalation)
	fails(t, "a binding to a role that is not there", bind("none"), `rolebindings.rbac.authorization.k8s.io "none" not found`)
	grant(t, admin, "binder", jane, rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}, Verbs: []string{"bind", "escalate"}})
	must(t, bind("more"))
	must(t, bind("none"))
	_, err = roles.Update(t.Context(), made, metav1.UpdateOptions{})
	must(t, err)
}

func TestAnApplyThatCreatesNeedsTheRightToCreate(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	admin, client := clientOf(t, c.RESTConfig()), clientOf(t, c.ConfigFor("jane"))
	grant(t, admin, "patcher", jane, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"patch"}})
	apply := func() error {
		return client.CoreV1().RESTClient().Patch("application/apply-patch+yaml").Namespace("default").Resource("configmaps").Name("a").Param("fieldManager", "m").
			Body([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)).Do(t.Context()).Error()
	}
	fails(t, "it may patch", apply(), `configmaps "a" is forbidden: User "jane" cannot create resource "configmaps" in API group "" in the namespace "default"`)
	grant(t, admin, "creator", jane, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}})
	must(t, apply())
	must(t, apply())
}

func TestTheAuditTrailNamesBothUsers(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAudit(auditv1.LevelMetadata))
	cfg := c.RESTConfig()
	cfg.Impersonate.UserName = "jane"
	_, err := clientOf(t, cfg).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	fails(t, "jane", err, `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"`)
	_, err = clientOf(t, c.ConfigFor("joe")).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	fails(t, "joe", err, `pods is forbidden: User "joe" cannot list resource "pods" in API group "" in the namespace "default"`)
	grant(t, clientOf(t, c.RESTConfig()), "reader", jane, readPods("list"))
	_, err = clientOf(t, cfg).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	must(t, err)

	type entry struct {
		By, As, Decision, Reason string
		Code                     int32
	}
	var got []entry
	for _, e := range c.Audit() {
		if e.ObjectRef == nil || e.ObjectRef.Resource != "pods" {
			continue
		}
		decided := entry{By: e.User.Username, Decision: e.Annotations["authorization.k8s.io/decision"], Reason: e.Annotations["authorization.k8s.io/reason"], Code: e.ResponseStatus.Code}
		if e.ImpersonatedUser != nil {
			decided.As = e.ImpersonatedUser.Username
		}
		got = append(got, decided)
	}
	equal(t, "the trail", got, []entry{
		{By: "kubernetes-admin", As: "jane", Decision: "forbid", Code: 403},
		{By: "joe", Decision: "forbid", Code: 403},
		{By: "kubernetes-admin", As: "jane", Decision: "allow", Reason: `RBAC: allowed by ClusterRoleBinding "reader" of ClusterRole "reader" to User "jane"`, Code: 200},
	})
}

// headers authenticates users by a header, and denies one by its name.
type headers struct{}

func (headers) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	name := req.Header.Get("X-User")
	return &authenticator.Response{User: &user.DefaultInfo{Name: name, Groups: []string{"theirs"}}}, name != "", nil
}

func TestAnAuthenticatorAndAnAuthorizerOfTheTestsOwn(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	decide := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, strings.Join(append([]string{a.GetUser().GetName(), a.GetVerb(), a.GetResource()}, a.GetUser().GetGroups()...), " "))
		if a.GetVerb() == "list" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "lists are enough", nil
	})
	c := fakecluster.Start(t, fakecluster.WithAuthenticator(headers{}), fakecluster.WithAuthorizer(decide))
	get := func(path, name string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL()+path, nil)
		must(t, err)
		if name != "" {
			req.Header.Set("X-User", name)
		}
		answer, err := http.DefaultClient.Do(req)
		must(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		must(t, err)
		return answer.StatusCode, string(body)
	}
	code, _ := get("/api/v1/namespaces/default/configmaps", "jane")
	equal(t, "jane lists", code, 200)
	code, body := get("/api/v1/namespaces/default/configmaps/a", "jane")
	equal(t, "jane gets", code, 403)
	if !strings.Contains(body, `configmaps \"a\" is forbidden: User \"jane\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"default\": lists are enough`) {
		t.Error(body)
	}
	code, _ = get("/api/v1/namespaces/default/configmaps", "")
	equal(t, "nobody lists", code, 401)
	equal(t, "calls", calls, []string{"jane list configmaps theirs", "jane get configmaps theirs"})

	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	_, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
	equal(t, "the administrator may do everything", apierrors.IsNotFound(err), true)
	equal(t, "error", refused(t, fakecluster.WithAuthorizer(decide), fakecluster.WithAuthorization(fakecluster.RBAC)),
		"WithAuthorizer and a mode of authorization exclude each other: one of them decides; leave one of them out")
}
