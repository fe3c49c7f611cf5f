package fakecluster_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// What the headers of an impersonation may not say is refused in the words of a real server, and
// the request is not made in the name of anybody.
func TestImpersonationByOddHeaders(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	admin := clientOf(t, c.RESTConfig())
	grant(t, admin, "impersonator", rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "joe"},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"jane", "joe"}, Verbs: []string{"impersonate"}})
	joe, root := c.ConfigFor("joe"), c.RESTConfig()
	forbidden := func(user string) string {
		return `selfsubjectreviews.authentication.k8s.io is forbidden: User "` + user + `" cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope`
	}
	for _, c := range []struct {
		rule    string
		by      *clientrest.Config
		headers http.Header
		code    int
		want    string // the message, or the name of the user
	}{
		{"groups without a user", root, http.Header{"Impersonate-Group": {"dev"}}, 400, `requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"dev"}, Extra:map[string][]string(nil)} without impersonating a user name`},
		{"a uid without a user", root, http.Header{"Impersonate-Uid": {"7"}}, 400, `requested &user.DefaultInfo{Name:"", UID:"7", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name`},
		{"extra without a user", root, http.Header{"Impersonate-Extra-Reason": {"test"}}, 400, `requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"reason":[]string{"test"}}} without impersonating a user name`},
		{"an empty user", root, http.Header{"Impersonate-User": {""}}, 201, "kubernetes-admin"},
		{"an empty value in extra", root, http.Header{"Impersonate-User": {"jane"}, "Impersonate-Extra-Reason": {""}}, 201, "jane"},
		{"a key of extra that is not a key", root, http.Header{"Impersonate-User": {"jane"}, "Impersonate-Extra-A%zz": {"b"}}, 201, "jane"},
		{"oneself without the right", c.ConfigFor("none"), http.Header{"Impersonate-User": {"none"}}, 403, forbidden("none")},
		{"oneself", joe, http.Header{"Impersonate-User": {"joe"}}, 201, "joe"},
		{"somebody with a group", joe, http.Header{"Impersonate-User": {"jane"}, "Impersonate-Group": {"system:masters"}}, 403, `groups "system:masters" is forbidden: User "joe" cannot impersonate resource "groups" in API group "" at the cluster scope`},
		{"system:masters for the administrator", root, http.Header{"Impersonate-User": {"jane"}, "Impersonate-Group": {"system:masters"}}, 201, "jane"},
		{"a service account by its name", root, http.Header{"Impersonate-User": {"system:serviceaccount:default:robot"}}, 201, "system:serviceaccount:default:robot"},
		{"system:anonymous", root, http.Header{"Impersonate-User": {"system:anonymous"}}, 403, `selfsubjectreviews.authentication.k8s.io is forbidden: User "system:anonymous" cannot create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope`},
		{"a header of an impersonation that there is not", root, http.Header{"Impersonate-Users": {"jane"}}, 201, "kubernetes-admin"},
	} {
		client, err := clientrest.HTTPClientFor(c.by)
		must(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.by.Host+"/apis/authentication.k8s.io/v1/selfsubjectreviews",
			strings.NewReader(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`))
		must(t, err)
		req.Header = c.headers
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		must(t, err)
		var answer struct {
			Message string
			Status  json.RawMessage
		}
		must(t, json.NewDecoder(resp.Body).Decode(&answer))
		must(t, resp.Body.Close())
		client.CloseIdleConnections()
		var review authenticationv1.SelfSubjectReviewStatus
		if answer.Message == "" {
			must(t, json.Unmarshal(answer.Status, &review))
		}
		equal(t, c.rule, []any{resp.StatusCode, answer.Message + review.UserInfo.Username}, []any{c.code, c.want})
	}
}

// A real server has answered these requests in the same way.
func TestARefusedImpersonationNamesTheVerbOfTheLastAllowedOne(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	admin := clientOf(t, c.RESTConfig())
	as := func(name string, groups ...string) (authenticationv1.UserInfo, error) {
		cfg := c.ConfigFor("joe")
		cfg.Impersonate = clientrest.ImpersonationConfig{UserName: name, Groups: groups}
		review, err := clientOf(t, cfg).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return authenticationv1.UserInfo{}, err
		}
		return review.Status.UserInfo, nil
	}
	const (
		byInfo   = `selfsubjectreviews.authentication.k8s.io is forbidden: User "joe" cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope`
		byLegacy = `groups "ops" is forbidden: User "joe" cannot impersonate resource "groups" in API group "" at the cluster scope`
	)
	joe := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "joe"}
	grant(t, admin, "legacy", joe,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"jane", "system:node:n"}, Verbs: []string{"impersonate"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"groups"}, ResourceNames: []string{"dev"}, Verbs: []string{"impersonate"}})
	_, err := as("jane", "ops")
	fails(t, "at first", err, byInfo)
	_, err = as("jane", "dev")
	must(t, err)
	_, err = as("jane", "ops")
	fails(t, "after the verb impersonate", err, byLegacy)
	_, err = as("jane", "dev")
	must(t, err)

	const group = "authentication.k8s.io"
	grant(t, admin, "constrained", joe,
		rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"selfsubjectreviews"}, Verbs: []string{"impersonate-on:user-info:create", "impersonate-on:arbitrary-node:create"}},
		rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"users"}, ResourceNames: []string{"paul"}, Verbs: []string{"impersonate:user-info"}},
		rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"nodes"}, ResourceNames: []string{"n"}, Verbs: []string{"impersonate:arbitrary-node"}})
	node, err := as("system:node:n")
	must(t, err)
	equal(t, "a node by the verb impersonate", node.Groups, []string{"system:authenticated"})
	_, err = as("paul")
	must(t, err)
	_, err = as("jane", "ops")
	fails(t, "after other verbs", err, `users.authentication.k8s.io "jane" is forbidden: User "joe" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope`)
	node, err = as("system:node:n")
	must(t, err)
	equal(t, "a node by a verb for nodes", node.Groups, []string{"system:nodes", "system:authenticated"})

	must(t, admin.RbacV1().ClusterRoleBindings().Delete(t.Context(), "constrained", metav1.DeleteOptions{}))
	_, err = as("paul")
	fails(t, "what is taken away is not remembered", err, `selfsubjectreviews.authentication.k8s.io is forbidden: User "joe" cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope`)
}
