package resource

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStoreKeys(t *testing.T) {
	namespaced := &Resource{Namespaced: true, Prefix: "/registry/configmaps/"}
	cluster := &Resource{Prefix: "/registry/namespaces/"}
	for _, c := range []struct {
		name                      string
		resource                  *Resource
		namespace, object         string
		key, prefix, keyNamespace string
	}{
		{"a namespaced object has its namespace in the key", namespaced, "team", "a",
			"/registry/configmaps/team/a", "/registry/configmaps/team/", "team"},
		{"a cluster-scoped object has none", cluster, "", "a",
			"/registry/namespaces/a", "/registry/namespaces/", ""},
		{"a name may contain the name of another namespace", namespaced, "team", "team.b",
			"/registry/configmaps/team/team.b", "/registry/configmaps/team/", "team"},
	} {
		t.Run(c.name, func(t *testing.T) {
			key := c.resource.Key(c.namespace, c.object)
			got := []string{key, c.resource.PrefixOf(c.namespace), c.resource.NamespaceOf(key), c.resource.NameOf(key)}
			if diff := cmp.Diff([]string{c.key, c.prefix, c.keyNamespace, c.object}, got); diff != "" {
				t.Errorf("key, prefix, namespace and name (-want +got):\n%s", diff)
			}
		})
	}
	if got := namespaced.PrefixOf(""); got != "/registry/configmaps/" {
		t.Errorf("the prefix of all namespaces is %q", got)
	}
}

func TestSubresourceNamesAreByNameThoseWithAProjectionLast(t *testing.T) {
	v := &Version{Subresource: map[string]*Subresource{
		"status": {}, "finalize": {}, "scale": {Projection: struct{ Projection }{}}, "a": {Projection: struct{ Projection }{}},
	}}
	if got, want := v.SubresourceNames(), []string{"finalize", "status", "a", "scale"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
