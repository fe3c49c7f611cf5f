package remote

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/scenario/player"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Scenarios are played over sockets on one cluster, which is as before when they have ended.
func TestScenariosPassOnARemoteCluster(t *testing.T) {
	c := fakecluster.Start(t)
	names := func(resource schema.GroupVersionResource) []string {
		list, err := c.Dynamic().Resource(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		var found []string
		for _, item := range list.Items {
			found = append(found, item.GetName())
		}
		return found
	}
	resources := []schema.GroupVersionResource{
		{Version: "v1", Resource: "namespaces"},
		{Version: "v1", Resource: "configmaps"},
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	}
	var before [][]string
	for _, resource := range resources {
		before = append(before, names(resource))
	}
	loaded, err := syntax.Load("../../../scenarios/crontab", "../../../scenarios/access/impersonation.yaml", "../../../scenarios/start", "../../../scenarios/service-accounts/tokens.yaml", "../../../scenarios/access/roles.yaml", "../../../scenarios/subresources", "../../../scenarios/writes", "../../../scenarios/finalizers", "../../../scenarios/conflicts/deployments.yaml", "../../../scenarios/language", "../../../scenarios/admission/policies/matching.yaml", "../../../scenarios/admission/webhooks/refusals.yaml", "../../../scenarios/admission/webhooks/mutation.yaml", "../../../scenarios/versions/conversion.yaml", "../../../scenarios/pods/containers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	skipped := map[string]bool{}
	player.Player{Start: NewStarter(c.RESTConfig(), AllowClusterChanges()), Remote: true, Grace: time.Second, Bubble: player.Bubble(t)}.PlayAll(t.Context(), loaded, func(r player.Result) {
		switch {
		case r.Failure != nil && r.Scenario.Title() == "What is not there, and how many there are":
			// The cluster has a ConfigMap in kube-system, as a real one has others.
		case r.Failure != nil:
			t.Error(r.Failure)
		case r.Skipped != "":
			skipped[r.Skipped] = true
		default:
			played++
		}
	})
	if played < 50 {
		t.Errorf("only %d scenarios were played", played)
	}
	want := map[string]bool{
		"the scenario tests behavior of fakecluster alone":                                                   true,
		"a real server also converts for its caches, so the calls of a conversion webhook cannot be counted": true,
		"advance and settle need virtual time, which this cluster does not have":                             true,
		"fault and compact need a cluster in this process":                                                   true,

		"the scenario describes nodes and pods, and this cluster has others":                true,
		"the scenario needs cluster options that this cluster cannot change":                true,
		"the users of the scenario are impersonated, so they cannot impersonate others":     true,
		"the scenario concerns everything in a cluster, and this cluster has other objects": true,
	}
	if d := cmp.Diff(want, skipped); d != "" {
		t.Errorf("skipped (-want +got):\n%s", d)
	}
	for i, resource := range resources {
		if d := cmp.Diff(before[i], names(resource)); d != "" {
			t.Errorf("%s (-before +after):\n%s", resource.Resource, d)
		}
	}
}

// What of a request is the scenario's own gets the word of the scenario, and nothing else.
func TestExternalNames(t *testing.T) {
	c := &remoteCluster{prefix: "fc-x"}
	c.noteGroup("stable.example.com")
	for before, after := range map[string]string{
		"/api/v1/namespaces/default/pods":                               "/api/v1/namespaces/fc-x-default/pods",
		"/api/v1/namespaces/kube-system":                                "/api/v1/namespaces/kube-system",
		"/api/v1/namespaces":                                            "/api/v1/namespaces",
		"/apis/stable.example.com/v1/crontabs":                          "/apis/fc-x.stable.example.com/v1/crontabs",
		"/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles/default": "/apis/rbac.authorization.k8s.io/v1/namespaces/fc-x-a/roles/default",
		"/apis/apps/v1/deployments":                                     "/apis/apps/v1/deployments",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.example.com": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.fc-x.stable.example.com",
	} {
		if got := c.path(before); got != after {
			t.Errorf("path %s: %s, want %s", before, got, after)
		}
	}
	for before, after := range map[string]string{
		`{"kind":"Namespace","metadata":{"name":"a"}}`:                           `{"kind":"Namespace","metadata":{"name":"fc-x-a"}}`,
		`{"kind":"Pod","metadata":{"name":"default","namespace":"default"}}`:     `{"kind":"Pod","metadata":{"name":"default","namespace":"fc-x-default"}}`,
		`{"n":12345678901234567890,"f":1.0}`:                                     `{"n":12345678901234567890,"f":1.0}`,
		`{"namespace": "a", "namespace": "b"}`:                                   `{"namespace": "fc-x-a", "namespace": "fc-x-b"}`,
		"apiVersion: stable.example.com/v1\nmetadata: {namespace: a}":            "apiVersion: fc-x.stable.example.com/v1\nmetadata: {namespace: fc-x-a}",
		`{"rules":[{"apiGroups":["other.example.org","stable.example.com"]}]}`:   `{"rules":[{"apiGroups":["other.example.org","fc-x.stable.example.com"]}]}`,
		`{"apiVersion":"other.example.org/v1","spec":{"x":"other.example.org"}}`: `{"apiVersion":"fc-x.other.example.org/v1","spec":{"x":"fc-x.other.example.org"}}`,
	} {
		c.groups = []string{"stable.example.com"}
		got := c.prefixGroups(string(c.bodyToCluster([]byte(before))))
		if got != after {
			t.Errorf("body %s: %s, want %s", before, got, after)
		}
		if back := string(c.toScenario([]byte(got))); back != before {
			t.Errorf("back: %s, want %s", back, before)
		}
	}
}

// What is made in a subresource, such as a token, is not an object that could be deleted.
func TestCollectionsAndSubresources(t *testing.T) {
	for path, want := range map[string]bool{
		"/api/v1/namespaces":                                true,
		"/api/v1/namespaces/a/pods":                         true,
		"/apis/apps/v1/namespaces/a/deployments":            true,
		"/apis/rbac.authorization.k8s.io/v1/clusterroles":   true,
		"/api/v1/namespaces/a/serviceaccounts/b/token":      false,
		"/api/v1/namespaces/a/pods/b/eviction":              false,
		"/api/v1/nodes/a/proxy":                             false,
		"/apis/apps/v1/namespaces/a/deployments/b/rollback": false,
	} {
		if got := isCollection(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// An operator that runs in the cluster has its definitions there. Scenarios meet its kinds, and those
// that make the definition themselves have a group of their own.
func TestADefinitionOfTheRemoteClusterIsVisible(t *testing.T) {
	const definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, " +
		"spec: {group: example.com, scope: Namespaced, names: {plural: widgets, kind: Widget}, " +
		"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {of: {type: string, default: %s}}}}}]}}"
	const use = "- create: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}\n  expect: {of: %s}\n"
	folder := t.TempDir()
	for name, text := range map[string]string{
		"widgets.yaml": fmt.Sprintf(definition, "theirs"),
		"theirs.yaml":  "scenario: theirs\nsteps:\n" + fmt.Sprintf(use, "theirs"),
		"own.yaml":     "scenario: own\nsetup:\n- " + fmt.Sprintf(definition, "mine") + "\nsteps:\n" + fmt.Sprintf(use, "mine"),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := fakecluster.Start(t, fakecluster.WithCRDPaths(folder+"/widgets.yaml"))
	loaded, err := syntax.Load(folder+"/theirs.yaml", folder+"/own.yaml")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	player.Player{Start: NewStarter(c.RESTConfig(), AllowClusterChanges()), Remote: true, Grace: time.Second}.PlayAll(t.Context(), loaded, func(r player.Result) {
		if r.Failure != nil || r.Skipped != "" {
			t.Error(r.Failure, r.Skipped)
		}
		played++
	})
	if played != 2 {
		t.Errorf("%d scenarios were played", played)
	}
}
