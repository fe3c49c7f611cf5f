package builtin

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	api "k8s.io/kubernetes/pkg/apis/core"

	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/resource"
)

// A secret of a ServiceAccount can lack its key, the name. As on a real server, managedFields then stay as they are, also if the update does not change the
// secrets.
func TestFieldsOfItemsWithoutKeys(t *testing.T) {
	registry := resource.NewRegistry(1, Resources(Options{}, crd.Definitions(true)), nil)
	fields := registry.Resource("", "serviceaccounts").Versions[0].FieldManager
	account := func(name string) *api.ServiceAccount {
		return &api.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "1", ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "m1", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:secrets":{}}`),
			}}},
			Secrets: []api.ObjectReference{{Name: name}},
		}
	}
	for _, test := range []struct {
		secret  string
		entries int
	}{{"", 1}, {"s", 2}} {
		live, changed := account(test.secret), account(test.secret)
		changed.Labels = map[string]string{"a": "b"}
		got, _, err := fields.Update(resource.Decoded{Object: live}, changed, "m2", metav1.Now())
		if err != nil {
			t.Fatal(err)
		}
		if entries := got.(*api.ServiceAccount).ManagedFields; len(entries) != test.entries {
			t.Errorf("the secret %q: managedFields has %d entries, want %d: %v", test.secret, len(entries), test.entries, entries)
		}
	}
}
