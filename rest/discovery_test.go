package rest_test

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestGroupsInOrder leaves open which built-in groups there are.
func TestGroupsInOrder(t *testing.T) {
	c := start(t)
	c.install("widgets", "moons")
	var list metav1.APIGroupList
	if err := json.Unmarshal([]byte(c.must("GET", "/apis", "")), &list); err != nil {
		t.Fatal(err)
	}
	last := list.Groups[len(list.Groups)-2:]
	expect(t, "custom groups, after the built-in ones", last, []metav1.APIGroup{
		{
			Name: "example.com",
			Versions: []metav1.GroupVersionForDiscovery{
				{GroupVersion: "example.com/v1", Version: "v1"}, {GroupVersion: "example.com/v1beta1", Version: "v1beta1"},
			},
			PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "example.com/v1", Version: "v1"},
		},
		{
			Name: "other.example.com",
			Versions: []metav1.GroupVersionForDiscovery{
				{GroupVersion: "other.example.com/v2", Version: "v2"}, {GroupVersion: "other.example.com/v1beta1", Version: "v1beta1"},
				{GroupVersion: "other.example.com/v1alpha1", Version: "v1alpha1"},
			},
			PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "other.example.com/v2", Version: "v2"},
		},
	})
	c.must("DELETE", definitionsPath+"/widgets.example.com", "")
	if got := c.must("GET", "/apis", ""); strings.Contains(got, `"example.com"`) {
		t.Errorf("the group is still there after its definition: %s", got)
	}
}

// TestTheCoreGroupHasNoApiVersion: these documents are older than the field.
func TestTheCoreGroupHasNoApiVersion(t *testing.T) {
	c := start(t)
	for path, want := range map[string]string{
		"/api":    `{"kind":"APIVersions","versions":["v1"],`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[`,
	} {
		if got := c.must("GET", path, ""); !strings.HasPrefix(got, want) {
			t.Errorf("%s: want %s…, got %s", path, want, got)
		}
	}
	const namespaces = `{"name":"namespaces","singularName":"namespace","namespaced":false,"kind":"Namespace","verbs":["create","delete","get","list","patch","update","watch"],"shortNames":["ns"],"storageVersionHash":"Q3oi5N2YM8M="},` +
		`{"name":"namespaces/finalize","singularName":"","namespaced":false,"kind":"Namespace","verbs":["update"]},` +
		`{"name":"namespaces/status","singularName":"","namespaced":false,"kind":"Namespace","verbs":["get","patch","update"]}`
	if got := c.must("GET", "/api/v1", ""); !strings.Contains(got, namespaces) {
		t.Errorf("want %s in %s", namespaces, got)
	}
}
