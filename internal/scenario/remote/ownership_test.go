package remote

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

func TestWhatIsTheScenariosOwn(t *testing.T) {
	c := &remoteCluster{prefix: "fc-x", created: []string{"/api/v1/nodes/made"}}
	for _, test := range []struct {
		name, method, path, body string
		own                      bool
	}{
		{"in a namespace of its own", "POST", "/api/v1/namespaces/fc-x-default/pods", "{}", true},
		{"all objects of a namespace of its own", "DELETE", "/apis/apps/v1/namespaces/fc-x-a/deployments", "", true},
		{"in another namespace", "POST", "/api/v1/namespaces/kube-system/pods", "{}", false},
		{"in a namespace whose name begins alike", "DELETE", "/api/v1/namespaces/fc-xy/pods", "", false},
		{"a namespace of its own", "POST", "/api/v1/namespaces", `{"metadata":{"name":"fc-x-a"}}`, true},
		{"the same as YAML", "POST", "/api/v1/namespaces", "metadata:\n  name: fc-x-a\n", true},
		{"another namespace", "POST", "/api/v1/namespaces", `{"metadata":{"name":"kube-a"}}`, false},
		{"the status of its namespace", "PUT", "/api/v1/namespaces/fc-x-a/status", "{}", true},
		{"another namespace goes", "DELETE", "/api/v1/namespaces/production", "", false},
		{"across the cluster", "DELETE", "/api/v1/pods", "", false},
		{"all ClusterRoles", "DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterroles", "", false},
		{"all with a label of somebody", "DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterroles?labelSelector=a%3Db", "", false},
		{"all with its own label", "DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterroles?labelSelector=run%3Dfc-x-1", "", true},
		{"all without its own label", "DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterroles?labelSelector=run%21%3Dfc-x-1", "", false},
		{"one object, with a selector that the server ignores", "DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin?labelSelector=run%3Dfc-x-1", "", false},
		{"the same in a namespace", "DELETE", "/api/v1/namespaces/kube-system/pods/a?labelSelector=run%3Dfc-x-1", "", false},
		{"another write with such a selector", "POST", "/api/v1/nodes?labelSelector=run%3Dfc-x-1", `{"metadata":{"name":"a"}}`, false},
		{"all with its own label in another namespace", "DELETE", "/api/v1/namespaces/kube-system/pods?labelSelector=run%3Dfc-x-1", "", true},
		{"an object without a namespace", "POST", "/api/v1/nodes", `{"metadata":{"name":"a"}}`, false},
		{"what it has created", "PATCH", "/api/v1/nodes/made/status", "{}", true},
		{"what begins like what it has created", "DELETE", "/api/v1/nodes/made2", "", false},
		{"a definition of its own", "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"a.fc-x.example.com"}}`, true},
		{"another definition", "DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.example.com", "", false},
		{"an object of its own group", "DELETE", "/apis/fc-x.example.com/v1/as", "", true},
		{"a review", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "{}", true},
		{"a dry run", "DELETE", "/api/v1/pods?dryRun=All", "", true},
		{"no dry run", "DELETE", "/api/v1/pods?dryRun=", "", false},
		{"a read", "GET", "/api/v1/nodes", "", true},
		{"a command in another namespace", "GET", "/api/v1/namespaces/kube-system/pods/a/exec", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			request, err := http.NewRequest(test.method, "http://127.0.0.1"+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.checkOwn(request, []byte(test.body)); (err == nil) != test.own {
				t.Errorf("%s %s: %v, want own: %t", test.method, test.path, err, test.own)
			}
		})
	}
}

// A scenario that deletes all ClusterRoles fails on a cluster that runs already, and deletes none.
func TestAScenarioLeavesTheClusterAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "roles.yaml")
	if err := os.WriteFile(file, []byte(`scenario: All ClusterRoles go
steps:
- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: own}}
- deletecollection: {apiVersion: v1, kind: ConfigMap, namespace: default}
- deletecollection: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := syntax.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		may   []Option
		fails string
		kept  bool
	}{
		"by default": {nil, "DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles is not sent: it may change what is not this scenario's own", true},
		"allowed":    {[]Option{AllowClusterChanges()}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := fakecluster.Start(t)
			var got string
			player.Player{Start: NewStarter(c.RESTConfig(), test.may...), Remote: true, Grace: time.Second, Bubble: player.Bubble(t)}.PlayAll(t.Context(), loaded, func(r player.Result) {
				if r.Failure != nil {
					got = fmt.Sprint(r.Failure)
				}
			})
			if (got == "") != (test.fails == "") || !strings.Contains(got, test.fails) {
				t.Errorf("the scenario: %s", got)
			}
			if test.fails != "" && !strings.Contains(got, "roles.yaml:5") {
				t.Errorf("the failure does not name the step: %s", got)
			}
			roles, err := c.Dynamic().Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if kept := len(roles.Items) > 0; kept != test.kept {
				t.Errorf("%d ClusterRoles are left", len(roles.Items))
			}
		})
	}
}
